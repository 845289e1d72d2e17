// The side drawer with a passage and its neighbours; the permission is checked at each opening.

import { picture, rpc } from "./api.js";
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
    asked.page ? pageButton(asked) : null,
    download,
  ];
}

// the picture takes the button's place
function pageButton(asked) {
  const address = `/api/knowledge/sources/${encodeURIComponent(asked.source_id)}/pages/${asked.page}.png`;
  const said = t("page_picture", { page: asked.page, title: asked.title });
  const button = el("button", { class: "link page", type: "button", onclick: () => open() }, t("show_page", { page: asked.page }));
  const open = async () => {
    button.disabled = true;
    button.textContent = t("thinking");
    try {
      const image = el("img", { class: "page", src: await picture(address), alt: said, tabIndex: -1 });
      button.replaceWith(image);
      image.focus();
    } catch (error) {
      const text = error.code === "not_found" ? t("passage_gone") : error.message;
      button.replaceWith(el("p", { class: "quiet", role: "alert" }, text));
    }
  };
  return button;
}
