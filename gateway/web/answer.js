// Renders an answer: a little Markdown by building elements. Its text is untrusted: links stay
// words, pictures are not loaded, and only [n] of a citation can be clicked.

import { el } from "./dom.js";
import { t } from "./i18n.js";

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\[\d{1,3}\])/g;

export function render(text, citations, onOpen) {
  const known = new Map(citations.map((citation) => [citation.n, citation]));
  const mark = (line) => inline(line, known, onOpen);
  const out = document.createDocumentFragment();
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; ) {
    const fence = /^\s*(```+|~~~+)/.exec(lines[i]);
    if (fence) i = code(lines, i, fence[1], out);
    else if (/^\s*[-*•]\s+/.test(lines[i])) i = list("ul", /^\s*[-*•]\s+/, lines, i, out, mark);
    else if (/^\s*\d+[.)、]\s+/.test(lines[i])) i = list("ol", /^\s*\d+[.)、]\s+/, lines, i, out, mark);
    else if (/^#{1,6}\s+/.test(lines[i])) {
      out.append(el("h3", {}, ...mark(lines[i].replace(/^#{1,6}\s+/, ""))));
      i += 1;
    } else i = paragraph(lines, i, out, mark);
  }
  return out;
}

function code(lines, start, fence, out) {
  let end = start + 1;
  while (end < lines.length && !lines[end].trim().startsWith(fence)) end += 1;
  out.append(el("pre", { tabIndex: 0 }, el("code", {}, lines.slice(start + 1, end).join("\n"))));
  return end + 1;
}

function list(tag, bullet, lines, start, out, mark) {
  const found = el(tag);
  if (tag === "ol") found.start = Number.parseInt(lines[start], 10) || 1;
  let i = start;
  for (; i < lines.length && bullet.test(lines[i]); i += 1) {
    found.append(el("li", {}, ...mark(lines[i].replace(bullet, ""))));
  }
  out.append(found);
  return i;
}

function paragraph(lines, start, out, mark) {
  const found = [];
  let i = start;
  for (; i < lines.length && lines[i].trim() && !/^\s*(```|~~~|[-*•]\s|\d+[.)、]\s|#{1,6}\s)/.test(lines[i]); i += 1) {
    if (found.length) found.push(el("br"));
    found.push(...mark(lines[i]));
  }
  if (found.length) out.append(el("p", {}, ...found));
  return i === start ? i + 1 : i;
}

function inline(line, known, onOpen) {
  const parts = [];
  let at = 0;
  for (const match of line.matchAll(INLINE)) {
    parts.push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1]) parts.push(el("code", {}, match[1].slice(1, -1)));
    else if (match[2]) parts.push(el("strong", {}, ...inline(match[2].slice(2, -2), known, onOpen)));
    else parts.push(citationMark(match[3], known, onOpen));
  }
  parts.push(line.slice(at));
  return parts.filter((part) => part !== "");
}

function citationMark(mark, known, onOpen) {
  const citation = known.get(Number(mark.slice(1, -1)));
  if (!citation?.chunk_id) return el("span", { class: "mark" }, mark);
  const label = t("open_passage", { n: citation.n });
  const open = (event) => onOpen(citation, event.currentTarget);
  return el("button", { class: "mark", type: "button", title: citation.title, "aria-label": label, onclick: open }, mark);
}

export function sources(citations, onOpen) {
  const shown = citations.filter((citation) => citation.title);
  if (!shown.length) return null;
  const rows = shown.map((citation) => el("li", {}, sourceRow(citation, onOpen)));
  return el("section", { class: "sources" }, el("h3", {}, t("sources")), el("ol", {}, ...rows));
}

function sourceRow(citation, onOpen) {
  const number = el("span", { class: "mark" }, `[${citation.n}]`);
  if (citation.is_deleted) {
    return el("span", { class: "source gone" }, number, t("deleted_source", { title: citation.title }));
  }
  return el(
    "button",
    { class: "source", type: "button", onclick: (event) => onOpen(citation, event.currentTarget) },
    number,
    el("span", { class: "where" }, el("b", {}, citation.title), citation.locator ? ` · ${citation.locator}` : ""),
    citation.excerpt ? el("q", {}, citation.excerpt) : null,
  );
}
