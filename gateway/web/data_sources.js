// 「資料來源」: what an agent answers from, its own documents first; the first upload makes those.

import { rpc, upload } from "./api.js";
import { ACCEPTED, MOST_FILES, Panel, resultRow } from "./documents.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { t } from "./i18n.js";
import { sensitivityChoice } from "./shelf_settings.js";

const REFRESH_MS = 3000;
const KINDS = ["people", "departments", "agents", "channels"];

export class DataSources {
  constructor() {
    this.choice = el("select", { "aria-label": t("agent"), onchange: () => this.show() });
    this.place = el("div", { class: "stack" });
    this.said = el("p", { class: "quiet", role: "status" });
    this.results = el("ul", { class: "results", "aria-live": "polite" });
    this.root = el(
      "main",
      { class: "documents sources-of" },
      el("header", { class: "row" }, el("h1", {}, t("data_sources")), el("span", { class: "spring" }), this.choice),
      this.said,
      this.results,
      this.place,
    );
  }

  async open() {
    this.isOpen = true;
    replace(this.said);
    replace(this.results);
    try {
      const before = this.choice.value;
      const agents = await rpc("agents.list");
      const named = (each) => (each.is_archived ? `${each.display_name} · ${t("own_archived")}` : each.display_name);
      replace(this.choice, ...agents.map((each) => el("option", { value: each.id, selected: each.id === before }, named(each))));
      if (agents.length) await this.show();
      else replace(this.place, el("p", { class: "quiet" }, t("own_no_agents")));
    } catch (error) {
      this.fail(error);
    }
  }

  close() {
    this.isOpen = false;
    clearTimeout(this.timer);
  }

  async show() {
    clearTimeout(this.timer);
    this.panel = null;
    try {
      const found = await rpc("knowledge.agent.data_sources", { agent_id: this.choice.value });
      const own = found.sources.find((each) => each.is_own);
      const others = found.sources.filter((each) => !each.is_own);
      replace(this.place, found.may_create ? this.form(found.agent_id) : this.own(own), this.shared(others));
      await this.refresh();
    } catch (error) {
      this.fail(error);
    }
  }

  async refresh() {
    clearTimeout(this.timer);
    if (this.panel?.isMoving) await this.panel.refresh().catch(() => {});
    if (this.isOpen) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }

  // The agent's own documents: kept like any collection by whoever may, else only told of.
  own(source) {
    if (!source) return el("section", { class: "panel", id: "own" }, el("p", { class: "quiet" }, t("own_none")));
    if (!source.role) {
      const managed = el("p", { class: "quiet" }, t("own_managed_by_others"));
      return el("section", { class: "panel", id: "own" }, el("ul", { class: "files" }, sourceRow(source)), managed);
    }
    const shelf = { ...source, id: source.collection_id, pending_proposals: 0 };
    this.panel = new Panel(shelf, () => this.show());
    this.panel.root.id = "own";
    this.panel.root.querySelector("header").append(...tagsOf(source));
    this.panel.root.append(el("p", { class: "quiet" }, readersOf(source)));
    if (source.role === "viewer") this.panel.root.append(el("p", { class: "quiet" }, t("own_managed_by_others")));
    return this.panel.root;
  }

  shared(sources) {
    const rows = sources.map(sourceRow);
    const list = el("ul", { class: "files", id: "shared-sources" }, ...(rows.length ? rows : [el("li", { class: "quiet" }, t("own_nothing_shared"))]));
    return el("section", { class: "panel" }, el("h2", {}, t("own_shared")), list);
  }

  form(agentId) {
    const sensitivity = sensitivityChoice("internal");
    const share = el("input", { type: "checkbox", checked: true });
    const input = el("input", { type: "file", multiple: true, hidden: true, accept: ACCEPTED });
    const choose = el("button", { class: "primary", type: "button", onclick: () => input.click() }, t("own_add_files"));
    input.onchange = async () => {
      choose.disabled = true;
      const files = [...input.files];
      await this.first({ agent_id: agentId, sensitivity: sensitivity.value, share_chat_users: share.checked }, files);
      choose.disabled = false;
      input.value = "";
    };
    return el(
      "section",
      { class: "panel", id: "own" },
      el("h2", {}, t("own_title")),
      el("p", { class: "quiet" }, t("own_hint")),
      el("div", { class: "row" }, sensitivity, el("label", {}, share, ` ${t("own_share_box")}`)),
      el("div", { class: "row" }, choose, el("span", { class: "quiet" }, t("upload_formats"))),
      input,
    );
  }

  async first(request, files) {
    if (!files.length) return;
    try {
      const own = await rpc("knowledge.agent.own.ensure", request);
      replace(this.said, own.notice);
      replace(this.results);
      for (let start = 0; start < files.length; start += MOST_FILES) {
        const answers = await upload(own.collection_id, files.slice(start, start + MOST_FILES), () => {});
        this.results.append(...answers.map(resultRow));
      }
      await this.show();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    replace(this.said, el("span", { class: "error", role: "alert" }, error.message));
  }
}

function sourceRow(source) {
  return el(
    "li",
    { "data-id": source.collection_id },
    icon(ICONS.file),
    el("span", { class: "name" }, source.name),
    el("span", { class: "tag" }, t(`sensitivity_${source.sensitivity}`)),
    el("span", { class: "quiet" }, t("count_sources", { count: source.sources })),
    ...tagsOf(source),
    el("p", { class: "quiet" }, readersOf(source)),
  );
}

function tagsOf(source) {
  return [el("span", { class: "tag" }, t(source.is_used ? "own_used" : "own_unused"))];
}

// Names for a collection's owners, who see the list of shares anyway; counts for everybody else.
function readersOf(source) {
  if (source.readers?.length) return t("own_readers", { who: source.readers.map((each) => each.name).join("、") });
  const counts = KINDS.filter((kind) => source.counts[kind]).map((kind) => t(`own_count_${kind}`, { count: source.counts[kind] }));
  return counts.length ? t("own_readers", { who: counts.join("、") }) : t("own_no_readers");
}
