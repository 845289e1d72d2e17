// A page of the web or a pasted text as a document.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { t } from "./i18n.js";

export function addSource(collectionId, noted, onAdded) {
  const said = el("p", { class: "quiet", role: "status" });
  const send = async (form, params) => {
    replace(said);
    try {
      const added = await rpc("knowledge.sources.add", { collection: collectionId, metadata: noted.value, ...params });
      form.reset();
      replace(said, `${added.source.title}：${t(added.is_new ? "upload_added" : "upload_existing")}`);
      await onAdded();
    } catch (error) {
      replace(said, el("span", { class: "error", role: "alert" }, error.message));
    }
  };
  return el("details", { class: "add-source" }, el("summary", {}, t("add_page_or_text")), page(send), pasted(send), said);
}

function page(send) {
  const url = el("input", { name: "url", type: "url", required: true, maxLength: 2000, placeholder: "https://", "aria-label": t("page_address") });
  const submit = (event) => {
    event.preventDefault();
    send(event.target, { kind: "url", url: url.value });
  };
  return el("form", { class: "row", onsubmit: submit }, url, el("button", {}, t("add_page")));
}

function pasted(send) {
  const title = el("input", { name: "title", required: true, maxLength: 200, placeholder: t("paste_title"), "aria-label": t("paste_title") });
  const text = el("textarea", { name: "text", required: true, rows: 3, placeholder: t("paste_text"), "aria-label": t("paste_text") });
  const submit = (event) => {
    event.preventDefault();
    send(event.target, { kind: "paste", title: title.value, text: text.value });
  };
  return el("form", { class: "stack", onsubmit: submit }, el("div", { class: "row" }, title, el("button", {}, t("add_text"))), text);
}
