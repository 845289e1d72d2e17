// 「文件」: what one can read, the state of each document, and uploads for editors.

import { AccessLog, Denied } from "./access_log.js";
import { addSource } from "./add_source.js";
import { rpc, upload } from "./api.js";
import { documentRow, MOVING } from "./document_row.js";
import { el, replace } from "./dom.js";
import { branch, folderChoice, treeOf } from "./folders.js";
import { Plans } from "./forgetting.js";
import { t } from "./i18n.js";
import { NotedRows } from "./noted.js";
import { Proposals } from "./proposals.js";
import { Sharing } from "./sharing.js";
import { sensitivityChoice, ShelfSettings } from "./shelf_settings.js";
import { trySearch } from "./try_search.js";

const REFRESH_MS = 3000;
export const MOST_FILES = 20;
export const ACCEPTED = ".pdf,.docx,.xlsx,.xls,.pptx,.csv,.tsv,.md,.markdown,.txt,.html,.htm,.xhtml";

export class Documents {
  constructor(me) {
    this.canCreate = me.role !== "member";
    this.root = el("main", { class: "documents" });
    this.proposals = new Proposals(() => this.lookAgain());
    this.admins = me.role === "admin" ? { denied: new Denied(), plans: new Plans() } : null;
    this.timer = null;
  }

  async open() {
    this.isOpen = true;
    try {
      const collections = await rpc("knowledge.collections.list");
      this.panels = [];
      const tree = treeOf(collections).flatMap((node) => branch(node, (collection) => this.panelOf(collection)));
      replace(
        this.root,
        el("header", { class: "row" }, el("h1", {}, t("documents")), el("span", { class: "spring" }), this.admins?.denied.button),
        this.admins?.denied.panel,
        this.admins?.plans.root,
        this.proposals.root,
        collections.length ? null : el("p", { class: "quiet" }, t("no_collections")),
        collections.length ? trySearch() : null,
        ...tree,
        this.canCreate ? this.form(collections) : null,
      );
      await this.refresh();
    } catch (error) {
      replace(this.root, el("p", { class: "error", role: "alert" }, error.message));
    }
  }

  panelOf(collection) {
    const panel = new Panel(collection, () => this.reopen());
    this.panels.push(panel);
    return panel.root;
  }

  async reopen() {
    this.close();
    await this.open();
  }

  close() {
    this.isOpen = false;
    clearTimeout(this.timer);
  }

  async refresh() {
    clearTimeout(this.timer);
    // what stands still is not asked for again: each look at a list is a row of the access log
    const panels = this.panels.filter((panel) => panel.isMoving);
    const waiting = [this.proposals, this.admins?.plans].filter(Boolean);
    await Promise.all([...waiting, ...panels].map((each) => each.refresh().catch(() => {})));
    if (this.isOpen) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }

  async lookAgain() {
    for (const panel of this.panels) panel.isMoving = true;
    await this.refresh();
  }

  form(collections) {
    const name = el("input", { name: "name", required: true, maxLength: 200, placeholder: t("collection_name"), "aria-label": t("collection_name") });
    const slug = el("input", { name: "slug", maxLength: 64, placeholder: t("collection_code_blank"), "aria-label": t("collection_code_blank") });
    const description = el("input", { name: "description", maxLength: 2000, placeholder: t("collection_description"), "aria-label": t("collection_description") });
    const sensitivity = sensitivityChoice("internal");
    const parent = folderChoice(collections, null);
    const said = el("p", { class: "quiet" }, t("new_collection_hint"));
    const create = async (event) => {
      event.preventDefault();
      try {
        const texts = { name: name.value, slug: slug.value.trim(), description: description.value };
        await rpc("knowledge.collections.create", { ...texts, sensitivity: sensitivity.value, parent_id: parent.value || null });
        await this.reopen();
      } catch (error) {
        replace(said, error.message);
      }
    };
    return el(
      "form",
      { class: "panel new", onsubmit: create },
      el("h2", {}, t("new_collection")),
      el("div", { class: "row" }, name, el("button", { class: "primary" }, t("create"))),
      el("div", { class: "row" }, description, slug, sensitivity, parent),
      said,
    );
  }
}

export class Panel {
  constructor(collection, onChanged) {
    this.collection = collection;
    this.isMoving = true; // until it was looked at
    this.list = el("ul", { class: "files" });
    this.results = el("ul", { class: "results", "aria-live": "polite" });
    this.isEditor = collection.role !== "viewer";
    this.root = el(
      "section",
      { class: "panel" },
      el(
        "header",
        {},
        el("h2", {}, collection.name),
        el("span", { class: "tag" }, t(`sensitivity_${collection.sensitivity}`)),
        el("span", { class: "tag" }, t(`role_${collection.role}`)),
        ...this.counts(),
      ),
    );
    this.noted = new NotedRows({});
    const ways = this.isEditor ? [this.dropzone(), this.beside(), addSource(collection.id, this.noted, () => this.refresh())] : [];
    this.panes = { files: el("div", {}, this.list, ...ways, this.results) };
    if (collection.role === "owner") this.addOwners(onChanged);
    this.root.append(...Object.values(this.panes));
  }

  counts() {
    const { in_progress: moving, pending_proposals: pending } = this.collection;
    const tag = (key, count) => (count ? el("span", { class: "tag" }, t(key, { count })) : null);
    const archived = this.collection.is_archived ? el("span", { class: "tag" }, t("own_archived")) : null;
    return [tag("count_in_progress", moving), tag("count_pending", pending), archived].filter(Boolean);
  }

  // What only owners see: who else may read this, and the collection's settings.
  addOwners(onChanged) {
    this.sharing = new Sharing(this.collection);
    this.settings = new ShelfSettings(this.collection, onChanged);
    this.reads = new AccessLog(this.collection);
    Object.assign(this.panes, { sharing: this.sharing.root, reads: this.reads.root, settings: this.settings.root });
    this.tabs = Object.keys(this.panes).map((name) =>
      el("button", { type: "button", role: "tab", "data-tab": name, onclick: () => this.view(name) }, t(`tab_${name}`)),
    );
    this.root.append(el("div", { class: "tabs", role: "tablist", "aria-label": this.collection.name }, ...this.tabs));
    this.view("files");
  }

  view(name) {
    this.tabs.forEach((tab) => tab.setAttribute("aria-selected", tab.dataset.tab === name));
    for (const [each, pane] of Object.entries(this.panes)) pane.hidden = each !== name;
    if (name !== "files") this[name].open();
  }

  // What is noted down about the next documents that are added here.
  beside() {
    return el("details", { class: "add-source" }, el("summary", {}, t("noted_with_upload")), this.noted.root);
  }

  async refresh(isAnew = false) {
    const sources = await rpc("knowledge.sources.list", { collection: this.collection.id });
    this.isMoving = sources.some((source) => MOVING.has(source.state));
    const seen = JSON.stringify(sources);
    if (seen === this.seen && !isAnew) return;
    this.seen = seen;
    const rows = sources.map((source) => documentRow(source, this.isEditor, (isAnew) => this.refresh(isAnew)));
    replace(this.list, ...(rows.length ? rows : [el("li", { class: "quiet" }, t("no_documents"))]));
  }

  dropzone() {
    const input = el("input", { type: "file", multiple: true, hidden: true, accept: ACCEPTED });
    input.onchange = () => {
      this.send([...input.files]);
      input.value = "";
    };
    const choose = el("button", { class: "link", type: "button", onclick: () => input.click() }, t("choose_files"));
    this.progress = el("progress", { max: 100, value: 0, hidden: true });
    const zone = el(
      "div",
      { class: "dropzone" },
      el("p", {}, `${t("upload_here")} `, choose),
      el("p", { class: "quiet" }, t("upload_formats")),
      this.progress,
      input,
    );
    const hover = (isOver) => (event) => {
      event.preventDefault();
      zone.classList.toggle("over", isOver);
    };
    zone.ondragover = hover(true);
    zone.ondragleave = hover(false);
    zone.ondrop = (event) => {
      hover(false)(event);
      this.send([...event.dataTransfer.files]);
    };
    return zone;
  }

  async send(files) {
    replace(this.results);
    for (let start = 0; start < files.length; start += MOST_FILES) {
      await this.sendSome(files.slice(start, start + MOST_FILES));
    }
    await this.refresh().catch(() => {});
  }

  async sendSome(files) {
    this.progress.hidden = false;
    try {
      const answers = await upload(this.collection.id, files, (percent) => {
        this.progress.value = percent;
        this.progress.setAttribute("aria-label", t("uploading", { percent }));
      }, this.noted.value);
      this.results.append(...answers.map(resultRow));
    } catch (error) {
      this.results.append(el("li", { class: "error" }, error.message));
    } finally {
      this.progress.hidden = true;
    }
  }
}

export function resultRow(answer) {
  const isRefused = answer.status === "refused";
  const said = isRefused ? answer.message : t(`upload_${answer.status}`);
  return el("li", { class: isRefused ? "error" : "" }, `${answer.name}：${said}`);
}
