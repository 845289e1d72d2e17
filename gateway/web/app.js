// The page: sign-in, then chat and documents.

import { rpc, session, signIn, signOut, whenSignedOut } from "./api.js";
import { Chat } from "./chat.js";
import { Documents } from "./documents.js";
import { el, icon, ICONS, replace } from "./dom.js";
import * as drawer from "./drawer.js";
import { LANGUAGES, language, preferred, t, use } from "./i18n.js";

const app = document.getElementById("app");
let shell = null;

async function start() {
  await use(preferred());
  whenSignedOut(() => leave());
  const me = await session().catch(() => null);
  if (me) await enter(me);
  else showSignIn();
}

async function enter(me) {
  if (me.language && me.language !== language()) await use(me.language);
  shell = new Shell(me);
  await shell.start();
}

function leave() {
  shell?.close();
  shell = null;
  showSignIn();
}

function languageChoice(onChange) {
  const options = LANGUAGES.map(([code, name]) => el("option", { value: code, selected: code === language() }, name));
  const choice = el("select", { class: "language", "aria-label": t("language") }, ...options);
  choice.onchange = async () => {
    await use(choice.value);
    onChange();
  };
  return choice;
}

function brand() {
  return el("div", { class: "brand" }, el("img", { src: "/web/icon.svg", alt: "", width: "28", height: "28" }), el("strong", {}, t("title")));
}

function showSignIn() {
  const login = el("input", { id: "login", name: "username", autocomplete: "username", required: true });
  const password = el("input", { id: "password", name: "password", type: "password", autocomplete: "current-password", required: true });
  const said = el("p", { class: "error", role: "alert" });
  const button = el("button", { class: "primary", type: "submit" }, t("sign_in"));
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await enter(await signIn(login.value.trim(), password.value));
    } catch (error) {
      replace(said, error.message);
      password.select();
    } finally {
      button.disabled = false;
    }
  };
  const form = el(
    "form",
    { class: "sign-in", onsubmit: submit },
    brand(),
    el("p", { class: "quiet" }, t("tagline")),
    el("label", { for: "login" }, t("login")),
    login,
    el("label", { for: "password" }, t("password")),
    password,
    said,
    button,
    languageChoice(showSignIn),
  );
  replace(app, el("div", { class: "front" }, form));
  login.focus();
}

class Shell {
  constructor(me) {
    this.me = me;
    this.chat = new Chat({ onSignedOut: leave, onAnswered: () => this.listConversations() });
    this.documents = new Documents(me);
    this.conversationList = el("ul");
  }

  async start() {
    this.draw();
    const agents = await rpc("chat.agents").catch(() => []);
    this.chat.setAgents(agents);
    const conversations = await this.listConversations();
    await this.talk(conversations[0]?.conversation_id ?? newName());
  }

  draw() {
    this.chatTab = el("button", { type: "button", onclick: () => this.view("chat") }, t("chat"));
    this.documentsTab = el("button", { type: "button", onclick: () => this.view("documents") }, t("documents"));
    const menu = el("button", { class: "icon menu", type: "button", "aria-label": t("menu"), onclick: () => this.side.classList.toggle("open") }, icon(ICONS.menu));
    const top = el(
      "header",
      { class: "top" },
      menu,
      brand(),
      el("nav", {}, this.chatTab, this.documentsTab),
      this.chat.agent,
      el("span", { class: "spring" }),
      languageChoice(() => this.redraw()),
      el("span", { class: "me" }, this.me.display_name),
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
    const isChat = name === "chat";
    this.chatTab.setAttribute("aria-current", isChat);
    this.documentsTab.setAttribute("aria-current", !isChat);
    this.side.hidden = !isChat;
    drawer.hide();
    replace(this.stage, isChat ? this.chat.root : this.documents.root);
    if (isChat) this.documents.close();
    else this.documents.open();
  }

  async talk(conversationId) {
    this.side.classList.remove("open");
    this.view("chat");
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
  }
}

function newName() {
  const bytes = crypto.getRandomValues(new Uint8Array(9));
  return Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}

start();
