// The side drawer with a passage and its neighbours; the permission is checked at each opening.

import { rpc } from "./api.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { t } from "./i18n.js";

let opener = null;
const body = el("div", { class: "drawer-body" });
const drawer = el("aside", { class: "drawer", id: "passage", hidden: true, tabIndex: -1 });

export function place() {
  const close = el("button", { class: "icon", type: "button", "aria-label": t("close"), onclick: hide }, icon(ICONS.close));
  drawer.setAttribute("aria-label", t("passage"));
  drawer.onkeydown = (event) => {
    if (event.key === "Escape") hide();
  };
  replace(drawer, el("header", {}, el("h2", {}, t("passage")), close), body);
  drawer.hidden = true;
  return drawer;
}

export function hide() {
  drawer.hidden = true;
  opener?.focus();
  opener = null;
}

export async function show(citation, from) {
  opener = from;
  drawer.hidden = false;
  drawer.focus();
  replace(body, el("p", { class: "quiet", role: "status" }, t("thinking")));
  try {
    const passages = await rpc("knowledge.passages.get", { chunk_id: citation.chunk_id, context: 1 });
    replace(body, ...content(citation, passages));
    body.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  } catch (error) {
    const text = error.code === "not_found" ? t("passage_gone") : error.message;
    replace(body, el("p", { class: "quiet", role: "status" }, text));
  }
}

function content(citation, passages) {
  const asked = passages.find((passage) => passage.is_asked_for) ?? passages[0];
  const address = `/api/knowledge/sources/${encodeURIComponent(asked.source_id)}/original`;
  const download = el("a", { class: "download", href: address }, icon(ICONS.download), t("download_original"));
  return [
    el("h3", {}, el("span", { class: "mark" }, `[${citation.n}]`), asked.title),
    asked.locator ? el("p", { class: "quiet" }, asked.locator) : null,
    ...passages.map((passage) =>
      el("blockquote", { class: passage.is_asked_for ? "asked" : "", "aria-current": passage.is_asked_for ? "true" : null }, passage.text),
    ),
    download,
  ];
}
