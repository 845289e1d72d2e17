// The page in the widget's frame: questions, drafts as they come, answers with their sources. All
// text is untrusted and becomes text nodes; nothing is loaded from an answer, nothing opens.

import { render } from "./answer.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { WidgetSocket } from "./widget_socket.js";

const widget = JSON.parse(document.body.dataset.widget);
const t = (key) => widget.strings[key];
const declared = new URLSearchParams(location.search).get("language");
const turns = new Map(); // turn id -> bubble
const waiting = []; // bubbles of questions sent and not begun to be answered
let socket = null; // opened with the window: who never asks costs nothing

const log = el("div", { class: "log", role: "log", "aria-live": "polite", "aria-label": t("log"), tabIndex: 0 });
const note = el("p", { class: "note", role: "status" });
const input = el("textarea", { rows: 1, placeholder: t("ask"), "aria-label": t("ask"), maxLength: 4000, enterkeyhint: "send" });
const button = el("button", { class: "send", type: "submit", "aria-label": t("send") }, icon(ICONS.send));
const form = el("form", { class: "ask" }, input, button);
const shut = el("button", { class: "shut", type: "button", "aria-label": t("close"), onclick: close }, icon(ICONS.close));

function open() {
  socket ??= new WidgetSocket(widget.agent, declared, {
    onFrame: take,
    onLost: () => say(t("lost")),
    onBack: () => say(""),
  });
  input.focus();
}

function close() {
  window.parent.postMessage({ type: "shutten:close" }, "*");
}

function ask() {
  const text = input.value.trim();
  if (!text || waiting.length || !socket) return;
  say("");
  question(text);
  waiting.push(bubble());
  socket.ask(text);
  input.value = "";
  fit();
  update();
}

function take(frame) {
  if (frame.type === "history") frame.turns.forEach(past);
  else if (frame.type === "error") {
    waiting.shift()?.root.remove();
    say(frame.message, true);
  } else {
    const found = turns.get(frame.turn_id) ?? begin(frame.turn_id);
    if (frame.type === "assistant_delta") draft(found, frame.text);
    else finish(found, frame.text, frame.citations);
  }
  update();
}

function past(turn) {
  if (turns.has(turn.turn_id)) return;
  const before = waiting.length ? waiting[0].root.previousSibling : null; // asked meanwhile
  const asked = question(turn.question);
  const answered = bubble();
  turns.set(turn.turn_id, answered);
  finish(answered, turn.text, turn.citations);
  if (before) before.before(asked, answered.root);
}

function begin(turnId) {
  const found = waiting.shift() ?? bubble();
  turns.set(turnId, found);
  return found;
}

function draft(found, text) {
  if (found.isDone) return; // a frame that came again
  found.text += text;
  replace(found.body, render(found.text, [], null));
}

function finish(found, text, citations) {
  found.isDone = true;
  found.root.classList.remove("waiting");
  found.root.removeAttribute("aria-busy"); // now it is read out, once
  replace(found.body, render(text, [], null), sources(citations));
}

function sources(citations) {
  if (!citations.length) return null;
  const rows = citations.map((citation) =>
    el(
      "li",
      {},
      el("span", { class: "mark" }, `[${citation.n}]`),
      el("span", { class: "where" }, el("b", {}, citation.title), citation.locator ? ` · ${citation.locator}` : ""),
      citation.excerpt ? el("q", {}, citation.excerpt) : null,
    ),
  );
  return el("section", { class: "sources" }, el("h2", {}, t("sources")), el("ol", {}, ...rows));
}

function question(text) {
  const root = el("article", { class: "message question", "aria-label": t("you") }, el("p", {}, text));
  log.append(root);
  return root;
}

function bubble() {
  const dots = el("p", { class: "dots" }, el("i"), el("i"), el("i"), el("span", { class: "unseen" }, t("thinking")));
  const body = el("div", { class: "body" }, dots);
  const root = el("article", { class: "message answer waiting", "aria-label": t("answer"), "aria-busy": "true" }, body);
  log.append(root);
  return { root, body, text: "", isDone: false };
}

function say(text, isError = false) {
  note.classList.toggle("error", isError);
  note.textContent = text;
}

function update() {
  button.disabled = waiting.length > 0;
  log.scrollTop = log.scrollHeight;
}

function fit() {
  input.style.height = "auto";
  input.style.height = `${Math.min(input.scrollHeight, 120)}px`;
}

form.onsubmit = (event) => {
  event.preventDefault();
  ask();
};
input.oninput = fit;
input.onkeydown = (event) => {
  const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
  if (!isSend) return; // Enter also ends the choice of characters while composing
  event.preventDefault();
  ask();
};
document.onkeydown = (event) => {
  if (event.key === "Escape" && !event.isComposing) close();
};
window.addEventListener("message", (event) => {
  if (event.source === window.parent && event.data?.type === "shutten:open") open();
});

const greeting = el("p", { class: "greeting" }, widget.greeting);
log.append(greeting);
document.body.append(el("header", {}, el("h1", {}, widget.title), shut), log, note, form);
if (window.parent === window) open(); // opened by itself, not on a site
else {
  const ready = { type: "shutten:ready", title: widget.title, open: t("open"), close: t("close") };
  window.parent.postMessage(ready, "*");
}
