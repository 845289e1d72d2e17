// The sections of a document, unfolded below its row; asked for anew at each opening.

import { rpc } from "./api.js";
import { el } from "./dom.js";
import { t } from "./i18n.js";

const unfolded = new Map(); // by document, so that a list drawn anew keeps what was opened

export function outlineOf(source) {
  const list = el("ol", { class: "outline", hidden: true });
  const said = `${t("sections")} ${source.title}`;
  const button = el("button", { class: "link", type: "button", "aria-label": said, "aria-expanded": "false", onclick: () => toggle() }, t("sections"));
  const show = (rows) => {
    list.replaceChildren(...rows);
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
  };
  const toggle = async () => {
    if (unfolded.delete(source.id)) {
      list.hidden = true;
      button.setAttribute("aria-expanded", "false");
      return;
    }
    button.disabled = true;
    try {
      const sections = await rpc("knowledge.sources.outline", { source_id: source.id });
      unfolded.set(source.id, sections);
      show(sections.map(row));
    } catch (error) {
      show([el("li", { class: "error", role: "alert" }, error.message)]);
    } finally {
      button.disabled = false;
    }
  };
  if (unfolded.has(source.id)) show(unfolded.get(source.id).map(row));
  return [button, list];
}

function row(section) {
  const pages = pagesOf(section);
  const by = section.summary_by ? t("summary_by_model", { model: section.summary_by }) : "";
  const item = el("li", {}, el("strong", {}, section.title), pages ? el("span", { class: "quiet" }, ` ${pages}`) : null, el("p", { class: "quiet", title: by || null }, section.summary));
  item.style.marginInlineStart = `${Math.min(section.level - 1, 5)}rem`;
  return item;
}

function pagesOf({ first_page: first, last_page: last }) {
  if (!first) return "";
  return last && last !== first ? `p. ${first}–${last}` : `p. ${first}`;
}
