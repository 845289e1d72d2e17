// 「共享」: who has which role on a collection, for its owners; everything is saved as one batch.

import { rpc } from "./api.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { t } from "./i18n.js";

const KINDS = ["user", "department", "agent", "channel"];
const ROLES = ["viewer", "editor", "owner"];
const MAY_HOLD = { user: ROLES, department: ["viewer", "editor"], agent: ["viewer"], channel: ["viewer"] };
const LEAST_CHARS = 2;
const TYPING_MS = 250;

const keyOf = (kind, id) => `${kind}:${id}`;
const isWholeChannel = (row) => row.kind === "channel" && !row.id.includes(":");

export class Sharing {
  constructor(collection) {
    this.collection = collection;
    this.rows = new Map();
    this.list = el("ul", { class: "files grants" });
    this.said = el("p", { class: "quiet", role: "status" });
    this.save = el("button", { class: "primary", type: "button", onclick: () => this.saveAll() }, t("share_save"));
    this.picker = new Picker((found) => this.add(found));
    this.root = el(
      "div",
      { class: "sharing" },
      el("div", { class: "held" }, el("h3", {}, t("share_held")), this.list, el("div", { class: "row" }, this.save, this.said)),
      this.picker.root,
    );
  }

  async open() {
    replace(this.said);
    this.save.disabled = true;
    try {
      const shared = await rpc("knowledge.grants.list", { collection: this.collection.id });
      await this.picker.open();
      await this.show(shared);
    } catch (error) {
      this.say(error.message, true);
    }
  }

  async show(shared) {
    this.version = shared.version;
    this.warnings = shared.warnings;
    const ids = shared.grants.filter((line) => line.subject_kind === "user" || line.subject_kind === "agent").map((line) => line.subject_id);
    const named = ids.length ? await rpc("knowledge.principals.resolve", { collection: this.collection.id, ids }) : [];
    const names = new Map([...this.picker.channels, ...named].map((each) => [keyOf(each.kind, each.id), each]));
    this.rows = new Map();
    for (const line of shared.grants) {
      const key = keyOf(line.subject_kind, line.subject_id);
      const found = names.get(key);
      this.rows.set(key, {
        kind: line.subject_kind,
        id: line.subject_id,
        role: line.role,
        name: found?.name ?? line.subject_id,
        department: found?.department ?? "",
        isActive: found?.is_active ?? true,
      });
    }
    this.saved = this.batch();
    this.draw();
  }

  batch() {
    const lines = [...this.rows.values()].map((row) => ({ subject_kind: row.kind, subject_id: row.id, role: row.role }));
    return lines.sort((one, other) => (keyOf(one.subject_kind, one.subject_id) < keyOf(other.subject_kind, other.subject_id) ? -1 : 1));
  }

  add(found) {
    const key = keyOf(found.kind, found.id);
    if (!this.rows.has(key)) {
      this.rows.set(key, { kind: found.kind, id: found.id, role: "viewer", name: found.name, department: found.department, isActive: true });
    }
    this.draw();
    this.list.querySelector(`[data-key="${CSS.escape(key)}"]`)?.scrollIntoView({ block: "nearest" });
  }

  draw() {
    replace(this.list, ...[...this.rows].map(([key, row]) => this.line(key, row)));
    const isChanged = JSON.stringify(this.batch()) !== JSON.stringify(this.saved);
    this.save.disabled = !isChanged;
    if (isChanged) this.say(t("share_unsaved"));
    else if (this.said.textContent === t("share_unsaved")) this.say("");
  }

  line(key, row) {
    const isLast = this.isLastOwner(row);
    const choice = el("select", {
      "aria-label": t("share_role_of", { name: row.name }),
      onchange: () => {
        row.role = choice.value;
        this.draw();
      },
    });
    for (const role of ROLES) {
      const isBarred = !MAY_HOLD[row.kind].includes(role) || (isLast && role !== "owner");
      choice.append(el("option", { value: role, disabled: isBarred, selected: role === row.role }, t(`role_${role}`)));
    }
    const remove = el(
      "button",
      {
        class: "icon",
        type: "button",
        disabled: isLast,
        title: isLast ? t("share_last_owner") : t("share_remove"),
        "aria-label": t("share_remove_name", { name: row.name }),
        onclick: () => {
          this.rows.delete(key);
          this.draw();
        },
      },
      icon(ICONS.close),
    );
    const about = [t(`share_kind_${row.kind}`), row.department, row.isActive ? "" : t("share_inactive")].filter(Boolean);
    return el(
      "li",
      { "data-key": key },
      el("span", { class: "name" }, row.name),
      el("span", { class: "quiet" }, about.join(" · ")),
      choice,
      remove,
      ...this.warningsOf(row).map((text) => el("p", { class: "warning" }, text)),
    );
  }

  isLastOwner(row) {
    const owners = [...this.rows.values()].filter((each) => each.kind === "user" && each.role === "owner" && each.isActive);
    return owners.length === 1 && owners[0] === row;
  }

  warningsOf(row) {
    if (row.kind !== "channel") return [];
    const told = this.warnings.filter((each) => each.subject_id === row.id).map((each) => each.message);
    return told.length || !isWholeChannel(row) ? told : [t("share_whole_channel")];
  }

  async saveAll() {
    this.save.disabled = true;
    try {
      const shared = await rpc("knowledge.grants.replace", { collection: this.collection.id, version: this.version, grants: this.batch() });
      await this.show(shared);
      this.say(t("share_saved"));
    } catch (error) {
      this.save.disabled = false;
      this.say(error.message, true);
      if (error.code === "conflict") this.offerReload();
    }
  }

  offerReload() {
    this.save.disabled = true;
    this.said.append(" ", el("button", { class: "link", type: "button", onclick: () => this.open() }, t("reload")));
  }

  say(text, isError = false) {
    this.said.className = isError ? "error" : "quiet";
    replace(this.said, text);
  }
}

// What one can share with: nobody is listed, people are looked up by name.
class Picker {
  constructor(onChosen) {
    this.onChosen = onChosen;
    this.channels = [];
    this.panes = { user: el("div"), department: el("div"), agent: el("div"), channel: el("div") };
    this.tabs = KINDS.map((kind) =>
      el("button", { type: "button", role: "tab", id: `share-${kind}`, onclick: () => this.view(kind) }, t(`share_kind_${kind}`)),
    );
    this.place = el("div", { role: "tabpanel" });
    this.root = el("div", { class: "picker" }, el("h3", {}, t("share_add")), el("div", { class: "tabs", role: "tablist", "aria-label": t("share_add") }, ...this.tabs), this.place);
  }

  async open() {
    const [departments, agents, channels] = await Promise.all(["department", "agent", "channel"].map((kind) => rpc("knowledge.principals.search", { kind })));
    this.channels = channels;
    this.members();
    replace(this.panes.department, this.choices(departments));
    replace(this.panes.agent, this.choices(agents, t("share_own_agents")));
    replace(this.panes.channel, this.choices(channels), this.chatForm());
    this.view("user");
  }

  view(kind) {
    this.tabs.forEach((tab, n) => tab.setAttribute("aria-selected", KINDS[n] === kind));
    replace(this.place, this.panes[kind]);
  }

  choices(found, hint) {
    const rows = found.map((each) =>
      el(
        "li",
        {},
        el("button", { type: "button", "data-id": each.id, onclick: () => this.onChosen(each) }, el("span", {}, each.name), each.department ? el("span", { class: "quiet" }, each.department) : null),
      ),
    );
    return el("ul", { class: "choices" }, ...(rows.length ? rows : [el("li", { class: "quiet" }, hint ?? t("share_nobody"))]));
  }

  members() {
    const found = el("div", { "aria-live": "polite" }, el("p", { class: "quiet" }, t("share_search_hint")));
    const query = el("input", { type: "search", "aria-label": t("share_search"), placeholder: t("share_search") });
    let timer = null;
    query.oninput = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.look(query, found), TYPING_MS);
    };
    replace(this.panes.user, query, found);
  }

  async look(query, found) {
    const asked = query.value.normalize("NFKC").trim();
    if ([...asked].length < LEAST_CHARS) {
      replace(found, el("p", { class: "quiet" }, t("share_search_hint")));
      return;
    }
    try {
      const people = await rpc("knowledge.principals.search", { kind: "user", query: asked });
      if (query.value.normalize("NFKC").trim() === asked) replace(found, this.choices(people));
    } catch (error) {
      replace(found, el("p", { class: "error" }, error.message));
    }
  }

  chatForm() {
    const platforms = this.channels.filter((each) => !each.id.includes("/"));
    const platform = el("select", { "aria-label": t("share_platform") }, ...platforms.map((each) => el("option", { value: each.id }, each.name)));
    const chat = el("input", { "aria-label": t("share_chat_id"), placeholder: t("share_chat_id"), required: true, maxLength: 200 });
    const add = (event) => {
      event.preventDefault();
      const id = `${platform.value}:${chat.value.trim()}`;
      if (!chat.value.trim()) return;
      this.onChosen({ kind: "channel", id, name: id, department: "" });
      chat.value = "";
    };
    return el("form", { class: "chat-id", onsubmit: add }, el("p", { class: "quiet" }, t("share_one_chat")), el("div", { class: "row" }, platform, chat, el("button", { class: "link" }, t("share_add_chat"))));
  }
}
