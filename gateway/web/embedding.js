// 「語意模型」: who computes vectors, how far they are, and what can be chosen; for admins.

import { rpc } from "./api.js";
import { dismiss } from "./dialog.js";
import { el, replace } from "./dom.js";
import { CloudForm, isCloud, leave, providerName } from "./embedding_cloud.js";
import { modelRow, nameOfKey } from "./embedding_models.js";
import { language, t } from "./i18n.js";

const REFRESH_MS = 3000;
const INSTALLING_MS = 1000;

export class Embedding {
  constructor() {
    this.said = el("p", { class: "quiet", role: "status" });
    this.now = el("section", { class: "panel", id: "embedding-now" });
    this.models = el("ul", { class: "files", id: "embedding-models" });
    this.cloud = new CloudForm(() => this.look());
    this.sources = new Map(); // where a model is to come from, by its name
    this.root = el(
      "main",
      { class: "documents embedding" },
      el("h1", {}, t("embedding")),
      this.said,
      this.now,
      el("section", { class: "panel" }, el("header", {}, el("h2", {}, t("embed_models"))), el("p", { class: "quiet" }, t("embed_models_hint")), this.models),
      this.cloud.root,
    );
  }

  async open() {
    this.isOpen = true;
    this.seen = null;
    replace(this.said);
    await this.look();
  }

  close() {
    this.isOpen = false;
    clearTimeout(this.timer);
    dismiss();
  }

  async look() {
    clearTimeout(this.timer);
    let wait = REFRESH_MS;
    try {
      const [status, settings] = await Promise.all([rpc("knowledge.embedding.status"), rpc("knowledge.embedding.settings")]);
      if (this.isLost) replace(this.said);
      this.isLost = false;
      this.draw(status, settings);
      if (status.models.some((each) => each.progress)) wait = INSTALLING_MS;
    } catch (error) {
      this.isLost = true;
      this.fail(error);
    }
    clearTimeout(this.timer);
    if (this.isOpen) this.timer = setTimeout(() => this.look(), wait);
  }

  draw(status, settings) {
    const seen = JSON.stringify([status, settings]);
    if (seen === this.seen) return;
    this.seen = seen;
    const focused = document.activeElement?.dataset.act;
    replace(this.now, ...this.state(status, settings));
    replace(this.models, ...status.models.map((each) => modelRow(each, status, settings, this)));
    this.cloud.update(settings);
    if (focused) this.root.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
  }

  state(status, settings) {
    const reason = status.unavailable;
    const old = status.model !== status.wanted && !reason;
    return [
      el("header", {}, el("h2", {}, t("embed_now")), el("span", { class: "tag" }, inUse(settings)), el("span", { class: `state ${reason ? "failed" : "ready"}` }, t(reason ? "embed_words_only" : "embed_hybrid"))),
      reason ? el("p", { class: "error" }, t(`embed_why_${reason}`)) : null,
      old ? el("p", {}, t("embed_old_serve", { model: nameOfKey(status.model) })) : null,
      old && status.wanted_unavailable ? el("p", { class: "error" }, t(`embed_why_${status.wanted_unavailable}`)) : null,
      coverage(status),
      settings.is_loaded === null ? null : el("p", { class: "quiet" }, t(settings.is_loaded ? "embed_loaded" : "embed_idle")),
      consent(settings),
      el("div", { class: "row" }, this.button("rebuild", t("embed_rebuild"), () => this.act("rebuild")), settings.provider === "none" ? null : this.button("none", t("embed_choose_none"), () => this.choose(settings, { provider: "none" }))),
    ];
  }

  button(act, text, onclick, label = text) {
    return el("button", { class: "link", type: "button", "data-act": act, "aria-label": label, onclick }, text);
  }

  async act(operation, params = {}, done = null) {
    replace(this.said, t("embed_working"));
    try {
      const answer = await rpc(`knowledge.embedding.${operation}`, params);
      replace(this.said, done ? done(answer) : null);
    } catch (error) {
      this.fail(error);
    }
    await this.look();
  }

  // Leaving a cloud provider is asked about first: its vectors serve no more at once.
  async choose(settings, wanted) {
    if (!isCloud(settings.provider)) return this.act("select", wanted);
    replace(this.said);
    await leave(settings.provider, wanted);
    return this.look();
  }

  fail(error) {
    replace(this.said, el("span", { class: "error", role: "alert" }, error.message));
  }
}

function inUse(settings) {
  const name = providerName(settings.provider);
  if (settings.provider === "local") return `${name} · ${settings.local_model}`;
  const chosen = settings.clouds.find((each) => each.provider === settings.provider);
  return chosen ? `${name} · ${settings.cloud_model || chosen.model}` : name;
}

function coverage(status) {
  const count = { done: status.embedded, total: status.passages };
  const words = el("p", { class: "quiet", id: "coverage" }, t("embed_coverage", count));
  if (!status.passages || status.embedded >= status.passages) return words;
  const bar = el("progress", { max: status.passages, value: status.embedded, "aria-label": t("embed_coverage", count) });
  return el("div", {}, bar, words);
}

function consent({ consent: agreed }) {
  if (!agreed) return null;
  const at = new Date(agreed.at);
  const when = Number.isNaN(at.getTime()) ? agreed.at : at.toLocaleString(language());
  return el("p", { class: "quiet", id: "consent" }, t("embed_agreed", { by: agreed.by, at: when, host: `${agreed.host}:${agreed.port}`, model: agreed.model }));
}
