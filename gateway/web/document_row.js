// One document in a list: its state, how far it is, what went wrong, and what can be done with it.

import { rpc } from "./api.js";
import { el, icon, ICONS } from "./dom.js";
import { t } from "./i18n.js";
import { notedOf, told } from "./noted.js";
import { outlineOf } from "./outline.js";

export const MOVING = new Set(["queued", "extracting", "indexing", "embedding"]);

export function documentRow(source, isEditor, onChanged) {
  const isMoving = MOVING.has(source.state);
  const isReadable = source.state === "ready" || source.state === "embedding";
  const notes = [source.error_message, ...source.warnings.map((warning) => warning.message)].filter(Boolean);
  const [noting, editor] = isEditor ? notedOf(source, onChanged) : [null, null];
  const [sections, outline] = isReadable ? outlineOf(source) : [null, null];
  const noted = told(source.metadata);
  return el(
    "li",
    { "data-id": source.id },
    icon(ICONS.file),
    el("span", { class: "name", title: source.url || source.media_type }, source.title),
    isReadable ? el("span", { class: "quiet" }, t("count_passages", { count: source.passages })) : null,
    el("span", { class: `state ${source.state}${isMoving ? " moving" : ""}` }, stateOf(source)),
    sections,
    source.size_bytes ? original(source) : null,
    isEditor && !isMoving ? again(source, onChanged) : null,
    noting,
    isEditor ? removal(source, onChanged) : null,
    noted ? el("p", { class: "quiet noted-of" }, noted) : null,
    editor,
    outline,
    ...notes.map((note) => el("p", { class: source.error_message === note ? "error" : "quiet" }, note)),
  );
}

function stateOf(source) {
  const words = source.state === "ready" && source.status_detail === "keyword_only" ? "state_keyword_only" : `state_${source.state}`;
  return source.progress ? `${t(words)} ${source.progress.done}/${source.progress.of}` : t(words);
}

function original(source) {
  const address = `/api/knowledge/sources/${encodeURIComponent(source.id)}/original`;
  return el("a", { class: "link", href: address, download: "", "aria-label": `${t("download_original")} ${source.title}` }, t("download_original"));
}

function again(source, onChanged) {
  return act(source, "read_again", "knowledge.sources.reindex", onChanged);
}

let askedAbout = null; // the document whose deletion waits for a second click; rows are drawn anew

// also while it is being read: that stops the reading
function removal(source, onChanged) {
  const sure = () => act(source, "delete_document_sure", "knowledge.sources.delete", onChanged);
  if (askedAbout === source.id) return sure();
  const said = { class: "link", type: "button", "aria-label": `${t("delete_document")} ${source.title}` };
  const button = el("button", { ...said, onclick: () => ask() }, t("delete_document"));
  const ask = () => {
    askedAbout = source.id;
    const next = sure();
    button.replaceWith(next);
    next.focus();
  };
  return button;
}

function act(source, label, method, onChanged) {
  const said = { class: "link", type: "button", "aria-label": `${t(label)} ${source.title}` };
  const button = el("button", { ...said, onclick: () => ask() }, t(label));
  const ask = async () => {
    button.disabled = true;
    try {
      await rpc(method, { source_id: source.id });
      await onChanged();
    } catch (error) {
      button.replaceWith(el("span", { class: "error", role: "alert" }, error.message));
    }
  };
  return button;
}
