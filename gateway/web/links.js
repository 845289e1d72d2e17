// 「連結聊天帳號」: make a code, confirm who sent it, end a link.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { language, t } from "./i18n.js";

const REFRESH_MS = 3000;
const SECOND_MS = 1000;
const LIFE_MS = 10 * 60 * SECOND_MS; // counted here: this machine's clock may be wrong
const PLATFORMS = { line: "LINE", telegram: "Telegram", slack: "Slack", discord: "Discord" };

export function platformName(channel) {
  return PLATFORMS[channel] ?? channel;
}

export class Links {
  constructor() {
    this.code = el("div", { class: "code", "aria-live": "polite" });
    this.said = el("p", { class: "error", role: "alert" });
    this.pending = el("ul", { class: "files", id: "pending-links" });
    this.bound = el("ul", { class: "files", id: "bound-links" });
    this.root = el(
      "main",
      { class: "documents links" },
      el("h1", {}, t("links")),
      panel(t("link_new"), el("p", { class: "quiet" }, t("link_hint")), el("button", { class: "primary", type: "button", onclick: () => this.make() }, t("link_make_code")), this.code),
      this.said,
      panel(t("link_pending"), el("p", { class: "quiet" }, t("link_pending_hint")), this.pending),
      panel(t("link_bound"), this.bound),
    );
  }

  async open() {
    this.isOpen = true;
    await this.refresh();
  }

  close() {
    this.isOpen = false;
    clearTimeout(this.timer);
    clearInterval(this.countdown);
    replace(this.code); // a code is shown once
  }

  async refresh() {
    clearTimeout(this.timer);
    try {
      const [pending, bound] = await Promise.all([rpc("links.pending"), rpc("links.list", { own: true })]);
      this.draw(pending, bound);
    } catch (error) {
      replace(this.said, error.message);
    }
    if (this.isOpen) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }

  draw(pending, bound) {
    const seen = JSON.stringify([pending, bound]);
    if (seen === this.seen) return;
    this.seen = seen;
    const requests = pending.map((each) =>
      row(each, button("primary", t("link_confirm"), () => this.act("links.confirm", { request_id: each.id })), button("link", t("link_reject"), () => this.act("links.reject", { request_id: each.id }))),
    );
    replace(this.pending, ...(requests.length ? requests : [el("li", { class: "quiet" }, t("link_none_pending"))]));
    const links = bound.map((each) => {
      const address = { channel: each.channel, account_name: each.account_name, sender: each.sender };
      return row(each, button("link", t("link_remove"), () => this.act("links.remove", address)));
    });
    replace(this.bound, ...(links.length ? links : [el("li", { class: "quiet" }, t("link_none_bound"))]));
  }

  async act(method, params) {
    replace(this.said);
    try {
      await rpc(method, params);
    } catch (error) {
      replace(this.said, error.message);
    }
    await this.refresh();
  }

  async make() {
    replace(this.said);
    try {
      const made = await rpc("links.code");
      this.show(made.code, Date.now() + LIFE_MS);
    } catch (error) {
      replace(this.said, error.message);
    }
  }

  show(code, endsAt) {
    clearInterval(this.countdown);
    const left = el("span", { class: "quiet", role: "timer" });
    const tick = () => {
      const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / SECOND_MS));
      const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      replace(left, t("link_code_left", { time }));
      if (seconds > 0) return;
      clearInterval(this.countdown);
      replace(this.code, el("p", { class: "quiet" }, t("link_code_over")));
    };
    replace(this.code, el("p", {}, t("link_send")), el("output", {}, `${t("link_word")} ${code}`), left);
    tick();
    this.countdown = setInterval(tick, SECOND_MS);
  }
}

function panel(title, ...children) {
  return el("section", { class: "panel" }, el("header", {}, el("h2", {}, title)), ...children);
}

function button(kind, text, onclick) {
  return el("button", { class: kind, type: "button", onclick }, text);
}

function row(each, ...actions) {
  const when = new Date(each.at).toLocaleString(language());
  return el(
    "li",
    {},
    el("span", { class: "tag" }, `${platformName(each.channel)} / ${each.account_name}`),
    el("span", { class: "name" }, each.sender_name || t("link_no_name"), " ", el("code", {}, `…${each.tail}`)),
    el("span", { class: "quiet" }, when),
    ...actions,
  );
}
