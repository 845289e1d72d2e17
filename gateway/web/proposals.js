// 「待核准」: documents proposed in chats or by agents, for those who may decide on them.

import { rpc } from "./api.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { language, t } from "./i18n.js";
import { platformName } from "./links.js";

const KILOBYTE = 1000;

export class Proposals {
  constructor(onDecided) {
    this.onDecided = onDecided;
    this.list = el("ul", { class: "files" });
    this.said = el("p", { class: "quiet", role: "status" });
    this.panel = el(
      "section",
      { class: "panel" },
      el("header", {}, el("h2", {}, t("proposals"))),
      el("p", { class: "quiet" }, t("proposals_hint")),
      this.list,
      this.said,
    );
    this.root = el("div", { id: "proposals" }); // empty for whoever has nothing to decide
  }

  async refresh() {
    const cards = await rpc("knowledge.proposals.list");
    const seen = JSON.stringify(cards);
    if (seen === this.seen) return; // an open preview stays open
    this.seen = seen;
    replace(this.root, cards.length || this.said.textContent ? this.panel : null);
    replace(this.list, ...cards.map((card) => this.row(card)));
  }

  row(card) {
    const approve = button("primary", t("proposal_approve"), () => this.decide(card, true));
    const reject = button("link", t("proposal_reject"), () => this.decide(card, false));
    const from = [card.proposer_name || card.agent_id, platformName(card.channel)].join(" / ");
    const until = t("proposal_until", { time: new Date(card.expires_at).toLocaleString(language()) });
    return el(
      "li",
      { "data-id": card.id },
      icon(ICONS.file),
      el("span", { class: "name" }, card.title),
      el("span", { class: "tag" }, card.collection_name),
      el("span", { class: "quiet" }, size(card.size_bytes)),
      el("span", { class: "state moving" }, t("proposal_waiting")),
      approve,
      reject,
      el("p", { class: "quiet" }, `${t("proposal_from", { who: from })} · ${until}`),
      el("p", { class: "quiet" }, "SHA-256 ", el("code", {}, card.sha256)),
      card.preview === null ? el("p", { class: "quiet" }, t("proposal_no_preview")) : preview(card.preview),
    );
  }

  async decide(card, approve) {
    replace(this.said);
    try {
      const decided = await rpc("knowledge.proposals.decide", { id: card.id, approve });
      const outcome = approve && !decided.is_new ? "existing" : decided.state;
      replace(this.said, `${card.title}：${t(`proposal_${outcome}`)}`);
    } catch (error) {
      replace(this.said, error.message);
    }
    this.seen = null;
    await this.onDecided();
  }
}

function preview(text) {
  return el("details", {}, el("summary", {}, t("proposal_preview")), el("pre", {}, text));
}

function button(kind, text, onclick) {
  return el("button", { class: kind, type: "button", onclick }, text);
}

function size(bytes) {
  const units = ["B", "kB", "MB"];
  let n = bytes;
  while (n >= KILOBYTE && units.length > 1) {
    n /= KILOBYTE;
    units.shift();
  }
  return `${n >= 100 || units[0] === "B" ? Math.round(n) : n.toFixed(1)} ${units[0]}`;
}
