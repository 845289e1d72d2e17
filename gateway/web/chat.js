// One conversation at a time: history, questions, drafts as they come, answers with their sources.

import { render, sources } from "./answer.js";
import { rpc } from "./api.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { show } from "./drawer.js";
import { t } from "./i18n.js";
import { ChatSocket } from "./socket.js";

export class Chat {
  constructor({ onSignedOut, onAnswered }) {
    this.onSignedOut = onSignedOut;
    this.onAnswered = onAnswered;
    this.turns = new Map(); // turn id -> answer bubble
    this.waiting = []; // bubbles of questions sent and not begun to be answered
    this.log = el("div", { class: "log", role: "log", "aria-live": "polite" });
    this.note = el("p", { class: "note", role: "status", hidden: true });
    this.agent = el("select", { id: "agent", "aria-label": t("agent") });
    this.input = el("textarea", { rows: 1, placeholder: t("ask"), "aria-label": t("ask_label"), maxLength: 100000, disabled: true });
    this.button = el("button", { class: "send", type: "submit", "aria-label": t("send") }, icon(ICONS.send));
    this.form = el("form", { class: "ask" }, this.input, this.button);
    this.form.onsubmit = (event) => {
      event.preventDefault();
      this.ask();
    };
    this.input.oninput = () => this.fit();
    this.input.onkeydown = (event) => {
      const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing;
      if (!isSend) return; // Enter also ends the choice of characters while composing
      event.preventDefault();
      this.ask();
    };
    this.root = el("main", { class: "chat" }, this.log, this.note, this.form);
  }

  setAgents(agents) {
    replace(this.agent, ...agents.map((agent) => el("option", { value: agent.id }, agent.display_name)));
    this.hasAgent = agents.length > 0;
    this.agent.hidden = agents.length < 2;
    this.names = new Map(agents.map((agent) => [agent.id, agent.display_name]));
  }

  async open(conversationId) {
    this.close();
    this.waiting = [];
    this.input.disabled = true; // a question asked before the history is here would be lost
    this.newest = null;
    this.update();
    this.conversationId = conversationId;
    replace(this.log, this.welcome());
    await this.restore();
    if (conversationId !== this.conversationId) return; // another one was opened meanwhile
    this.socket = new ChatSocket(conversationId, this.newest, {
      onFrame: (frame) => this.take(frame),
      onLost: () => {
        this.say(t("connection_lost"));
        rpc("auth.me").catch(() => {}); // the session may be over: that shows the sign-in
      },
      onBack: () => this.say(""),
      onSignedOut: this.onSignedOut,
    });
    this.input.disabled = !this.hasAgent;
    this.input.focus();
  }

  close() {
    this.socket?.close();
    this.socket = null;
  }

  async restore() {
    const conversation_id = this.conversationId;
    const cited = rpc("knowledge.citations.for_session", { conversation_id }).catch((error) => {
      if (conversation_id === this.conversationId) this.say(error.message);
      return []; // without the library, what was said is still there to read
    });
    try {
      const turns = await rpc("chat.history", { conversation_id });
      const citations = await cited;
      if (conversation_id !== this.conversationId) return;
      this.newest = turns.at(-1)?.turn_id ?? null;
      this.turns.clear();
      if (turns.length) {
        replace(this.log);
        const agentId = turns.at(-1).agent_id;
        if (this.names?.has(agentId)) this.agent.value = agentId;
      }
      for (const turn of turns) {
        this.question(turn.question);
        const bubble = this.bubble(turn.turn_id);
        this.finish(bubble, turn.text, citations.filter((each) => each.turn_id === turn.turn_id));
      }
    } catch (error) {
      this.say(error.message);
    }
    this.scroll();
  }

  ask() {
    const text = this.input.value.trim();
    if (!text || this.waiting.length || this.input.disabled) return;
    this.log.querySelector(".welcome")?.remove();
    this.say("");
    this.question(text);
    this.waiting.push(this.bubble());
    this.socket.ask(text, this.agent.value);
    this.input.value = "";
    this.fit();
    this.update();
    this.scroll();
  }

  take(frame) {
    if (frame.type === "error") {
      this.waiting.shift()?.root.remove();
      this.say(frame.message, true);
    } else if (frame.type === "assistant_done" && !this.waiting.length && !this.turns.has(frame.turn_id)) {
      this.restore(); // asked elsewhere, or before the page was loaded anew
    } else {
      const bubble = this.turns.get(frame.turn_id) ?? this.begin(frame.turn_id);
      if (frame.type === "assistant_delta") this.draft(bubble, frame.text);
      else {
        this.finish(bubble, frame.text, frame.citations);
        this.onAnswered();
      }
    }
    this.update();
    this.scroll();
  }

  begin(turnId) {
    const bubble = this.waiting.shift() ?? this.bubble();
    this.turns.set(turnId, bubble);
    return bubble;
  }

  draft(bubble, text) {
    if (bubble.isDone) return; // a frame that came again
    bubble.text += text;
    replace(bubble.body, render(bubble.text, [], show));
  }

  finish(bubble, text, citations) {
    bubble.isDone = true;
    bubble.root.classList.remove("waiting");
    replace(bubble.body, render(text, citations, show), sources(citations, show));
  }

  question(text) {
    this.log.append(el("article", { class: "message question", "aria-label": t("you") }, el("p", {}, text)));
  }

  bubble(turnId = null) {
    const dots = el("p", { class: "dots", role: "status" }, el("i"), el("i"), el("i"), el("span", { class: "unseen" }, t("thinking")));
    const body = el("div", { class: "body" }, dots);
    const root = el("article", { class: "message answer waiting" }, body);
    const bubble = { root, body, text: "", isDone: false };
    if (turnId) this.turns.set(turnId, bubble);
    this.log.append(root);
    return bubble;
  }

  welcome() {
    const hint = this.hasAgent === false ? t("no_agent") : t("welcome_hint");
    return el("div", { class: "welcome" }, el("h1", {}, t("welcome")), el("p", { class: "quiet" }, hint));
  }

  say(text, isError = false) {
    this.note.hidden = !text;
    this.note.classList.toggle("error", isError);
    replace(this.note, text);
  }

  update() {
    this.button.disabled = this.waiting.length > 0;
  }

  fit() {
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 200)}px`;
  }

  scroll() {
    this.log.scrollTop = this.log.scrollHeight;
  }
}
