// Metadata: what people note down about a document, as rows of keys and values.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { t } from "./i18n.js";

const MOST_ROWS = 50;

// As at the command line: 2026, true, false, null and "2026" are what JSON says, all else is a text.
export function typed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? text : value;
  } catch {
    return text;
  }
}

export function written(value) {
  return typeof value === "string" && typed(value) === value ? value : JSON.stringify(value);
}

export function told(metadata) {
  return Object.entries(metadata).map(([key, value]) => `${key}: ${written(value)}`).join(" · ");
}

// Rows that can be filled, added and taken out; `value` is what they say, rows without a key left out.
export class NotedRows {
  constructor(metadata, adding = t("noted_add")) {
    this.list = el("ul", { class: "noted" });
    this.adding = el("button", { class: "link", type: "button", onclick: () => this.add("", "").focus() }, adding);
    this.root = el("div", {}, this.list, this.adding);
    this.fill(metadata);
  }

  fill(metadata) {
    replace(this.list);
    for (const [key, value] of Object.entries(metadata)) this.add(key, written(value));
  }

  add(key, value) {
    const name = el("input", { value: key, maxLength: 100, placeholder: t("noted_key"), "aria-label": t("noted_key") });
    const said = el("input", { value, maxLength: 1002, placeholder: t("noted_value"), "aria-label": t("noted_value") });
    const remove = el("button", { class: "link", type: "button", onclick: () => this.remove(row) }, t("noted_remove"));
    const row = el("li", { class: "row" }, name, said, remove);
    this.list.append(row);
    this.adding.hidden = this.list.children.length >= MOST_ROWS;
    return name;
  }

  remove(row) {
    row.remove();
    this.adding.hidden = false;
    this.adding.focus();
  }

  get value() {
    const rows = [...this.list.children].map((row) => [...row.querySelectorAll("input")].map((input) => input.value));
    return Object.fromEntries(rows.filter(([key]) => key.trim()).map(([key, value]) => [key.trim(), typed(value)]));
  }
}

const open = new Map(); // editors by document; rows of documents are drawn anew while they are read

// The button of a row and, while it is open, the editor.
export function notedOf(source, onChanged) {
  const place = el("div", { class: "editor" });
  const said = { class: "link", type: "button", "aria-label": `${t("noted")} ${source.title}`, "aria-expanded": String(open.has(source.id)) };
  const button = el("button", { ...said, onclick: () => toggle() }, t("noted"));
  const close = () => {
    open.delete(source.id);
    draw();
    button.focus();
  };
  const draw = () => {
    button.setAttribute("aria-expanded", open.has(source.id));
    place.hidden = !open.has(source.id);
    replace(place, open.get(source.id) ?? null);
  };
  const toggle = () => {
    if (open.has(source.id)) return close();
    open.set(source.id, editor(source, onChanged));
    draw();
    place.querySelector("input, button").focus();
  };
  draw();
  return [button, place];
}

function editor(source, onChanged) {
  const rows = new NotedRows(source.metadata);
  const said = el("p", { class: "error", role: "alert" });
  const save = async (event) => {
    event.preventDefault();
    replace(said);
    try {
      const change = { source_id: source.id, metadata: rows.value, before: source.metadata };
      await rpc("knowledge.sources.set_metadata", change);
      open.delete(source.id);
      await onChanged(true);
    } catch (error) {
      replace(said, error.message);
      if (error.code !== "conflict") return;
      const again = async () => {
        open.delete(source.id);
        await onChanged(true);
      };
      said.append(" ", el("button", { class: "link", type: "button", onclick: again }, t("reload")));
    }
  };
  if (!Object.keys(source.metadata).length) rows.add("", "");
  return el("form", { class: "stack", onsubmit: save }, rows.root, el("div", { class: "row" }, el("button", { class: "primary" }, t("save")), said));
}
