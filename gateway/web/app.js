// The page: sign-in, then chat, documents and linked chat accounts.

import { rpc, session, signOut, whenSignedOut } from "./api.js";
import { Chat } from "./chat.js";
import { DataSources } from "./data_sources.js";
import { Documents } from "./documents.js";
import { el, icon, ICONS, replace } from "./dom.js";
import * as drawer from "./drawer.js";
import { Embedding } from "./embedding.js";
import { language, preferred, t, use } from "./i18n.js";
import { Links } from "./links.js";
import { brand, languageChoice, showSignIn } from "./sign_in.js";

const app = document.getElementById("app");
let shell = null;

async function start() {
  await use(preferred());
  whenSignedOut(() => leave());
  const me = await session().catch(() => null);
  if (me) await enter(me);
  else showSignIn(app, enter);
}

async function enter(me) {
  if (me.language && me.language !== language()) await use(me.language);
  shell = new Shell(me);
  await shell.start();
}

function leave() {
  shell?.close();
  shell = null;
  showSignIn(app, enter);
}

class Shell {
  constructor(me) {
    this.me = me;
    this.chat = new Chat({ onSignedOut: leave, onAnswered: () => this.listConversations() });
    this.documents = new Documents(me);
    this.sources = new DataSources();
    this.embedding = me.role === "admin" ? new Embedding() : null;
    this.links = new Links();
    this.conversationList = el("ul");
  }

  async start() {
    this.draw();
    const agents = await rpc("chat.agents").catch(() => []);
    this.chat.setAgents(agents);
    const conversations = await this.listConversations();
    await this.open(conversations[0]?.conversation_id ?? newName());
  }

  draw() {
    this.chatTab = el("button", { type: "button", onclick: () => this.view("chat") }, t("chat"));
    this.documentsTab = el("button", { type: "button", onclick: () => this.view("documents") }, t("documents"));
    this.sourcesTab = el("button", { type: "button", onclick: () => this.view("sources") }, t("data_sources"));
    this.embeddingTab = this.embedding && el("button", { type: "button", "data-view": "embedding", onclick: () => this.view("embedding") }, t("embedding"));
    this.linksTab = el("button", { class: "link", type: "button", onclick: () => this.view("links") }, t("links"));
    const menu = el("button", { class: "icon menu", type: "button", "aria-label": t("menu"), onclick: () => this.side.classList.toggle("open") }, icon(ICONS.menu));
    const top = el(
      "header",
      { class: "top" },
      menu,
      brand(),
      el("nav", {}, this.chatTab, this.documentsTab, this.sourcesTab, ...[this.embeddingTab].filter(Boolean)),
      this.chat.agent,
      el("span", { class: "spring" }),
      languageChoice(() => this.redraw()),
      el("span", { class: "me" }, this.me.display_name),
      this.linksTab,
      el("button", { class: "link", type: "button", onclick: () => this.signOut() }, t("sign_out")),
    );
    const fresh = el("button", { class: "fresh", type: "button", onclick: () => this.talk(newName()) }, icon(ICONS.plus), t("new_chat"));
    this.side = el("nav", { class: "side", "aria-label": t("conversations") }, fresh, el("h2", {}, t("conversations")), this.conversationList);
    this.stage = el("div", { class: "stage" });
    replace(app, top, el("div", { class: "frame" }, this.side, this.stage, drawer.place()));
    this.view("chat");
  }

  async redraw() {
    this.close();
    shell = new Shell(this.me);
    await shell.start();
  }

  view(name) {
    const tabs = { chat: this.chatTab, documents: this.documentsTab, sources: this.sourcesTab, embedding: this.embeddingTab, links: this.linksTab };
    for (const [each, tab] of Object.entries(tabs)) tab?.setAttribute("aria-current", each === name);
    this.side.hidden = name !== "chat";
    drawer.hide();
    replace(this.stage, this[name].root);
    for (const each of [this.documents, this.sources, this.embedding, this.links].filter(Boolean)) {
      if (each === this[name]) each.open();
      else each.close();
    }
  }

  async talk(conversationId) {
    this.side.classList.remove("open");
    this.view("chat");
    await this.open(conversationId);
  }

  /** Without turning to it: at the start somebody may already be looking at something else. */
  async open(conversationId) {
    this.conversationId = conversationId;
    this.markCurrent();
    await this.chat.open(conversationId);
  }

  async listConversations() {
    const found = await rpc("chat.conversations").catch(() => []);
    const rows = found.map((each) =>
      el("li", {}, el("button", { type: "button", "data-id": each.conversation_id, title: each.question, onclick: () => this.talk(each.conversation_id) }, each.question)),
    );
    replace(this.conversationList, ...rows);
    this.markCurrent();
    return found;
  }

  markCurrent() {
    for (const button of this.conversationList.querySelectorAll("button")) {
      button.setAttribute("aria-current", button.dataset.id === this.conversationId);
    }
  }

  async signOut() {
    await signOut();
    leave();
  }

  close() {
    this.chat.close();
    this.documents.close();
    this.sources.close();
    this.embedding?.close();
    this.links.close();
  }
}

function newName() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}

start();
