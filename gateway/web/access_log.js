// 「閱覽紀錄」: who read what of a collection, for its owners; who was refused, for admins.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { language, t } from "./i18n.js";
import { platformName } from "./links.js";

const PAGE = 50;

// A list that grows by a page at a time.
class Pages {
  constructor(method, params, rowOf) {
    this.ask = (before) => rpc(method, { ...params, limit: PAGE, before });
    this.rowOf = rowOf;
    this.list = el("ul", { class: "files reads" });
    this.more = el("button", { class: "link", type: "button", hidden: true, onclick: () => this.load() }, t("reads_more"));
    this.said = el("p", { class: "error", role: "alert" });
    this.root = el("div", { class: "reads" }, this.list, this.more, this.said);
  }

  async open() {
    replace(this.list);
    this.before = null;
    await this.load();
  }

  async load() {
    replace(this.said);
    this.more.disabled = true;
    try {
      const page = await this.ask(this.before);
      this.before = page.next;
      this.list.append(...page.rows.map(this.rowOf));
      if (!this.list.children.length) replace(this.list, el("li", { class: "quiet" }, t("reads_none")));
    } catch (error) {
      this.before = null;
      replace(this.said, error.message);
    }
    this.more.disabled = false;
    this.more.hidden = !this.before;
  }
}

export class AccessLog extends Pages {
  constructor(collection) {
    super("knowledge.access_log.list", { collection: collection.id }, readRow);
  }
}

// The admins' button, and the panel that it opens.
export class Denied {
  constructor() {
    this.pages = new Pages("knowledge.access_log.denied", {}, deniedRow);
    this.panel = el("section", { class: "panel", id: "denied", hidden: true }, el("header", {}, el("h2", {}, t("denied_reads"))), this.pages.root);
    this.button = el("button", { class: "link", type: "button", "aria-expanded": "false", onclick: () => this.toggle() }, t("denied_reads"));
  }

  async toggle() {
    this.panel.hidden = !this.panel.hidden;
    this.button.setAttribute("aria-expanded", String(!this.panel.hidden));
    if (!this.panel.hidden) await this.pages.open();
  }
}

function readRow(row) {
  const count = row.passages ? el("span", { class: "quiet" }, t("count_passages", { count: row.passages })) : null;
  return el("li", {}, ...who(row), el("span", { class: "tag" }, t(`read_${row.action}`)), count, ...question(row));
}

function deniedRow(row) {
  const where = row.collection || t("denied_nothing");
  return el("li", {}, ...who(row), el("span", { class: "tag" }, where), ...question(row));
}

function who(row) {
  const name = row.account || row.account_id || row.sender || t("read_nobody");
  const agent = row.agent || row.agent_id;
  return [
    el("time", { class: "quiet", datetime: row.at }, new Date(row.at).toLocaleString(language())),
    el("span", { class: "name" }, name),
    row.account_id || !row.sender ? null : el("span", { class: "tag" }, t("read_unlinked")),
    agent ? el("span", { class: "quiet" }, t("read_through", { agent })) : null,
    row.channel ? el("span", { class: "tag" }, platformName(row.channel)) : null,
  ];
}

function question(row) {
  if (row.question) return [el("p", { class: "quiet" }, row.question)];
  return row.question_hash ? [el("p", { class: "quiet" }, `${t("read_question")} `, el("code", {}, row.question_hash))] : [];
}
