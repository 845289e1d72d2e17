// Cloud providers: what is disclosed before anybody agrees, and what leaving one means.

import { rpc } from "./api.js";
import { ask } from "./dialog.js";
import { el, replace } from "./dom.js";
import { t } from "./i18n.js";

const NAMES = { openai: "OpenAI", gemini: "Gemini" };
const STALE = "cloud_disclosure_needed";

export function isCloud(provider) {
  return Object.hasOwn(NAMES, provider);
}

export function providerName(provider) {
  if (provider === "local" || provider === "none") return t(`embed_${provider}`);
  return isCloud(provider) ? NAMES[provider] : provider;
}

export class CloudForm {
  constructor(onChanged) {
    this.onChanged = onChanged;
    this.provider = el("select", { name: "provider", "aria-label": t("embed_provider"), onchange: () => this.show() });
    this.model = el("input", { name: "cloud_model", maxLength: 200, autocomplete: "off", "aria-label": t("embed_cloud_model") });
    this.account = el("select", { name: "cloud_account", "aria-label": t("embed_account") });
    this.where = el("p", { class: "quiet" });
    this.said = el("p", { class: "error", role: "alert" });
    const field = (label, input) => el("label", {}, el("span", {}, label), input);
    this.root = el(
      "form",
      { class: "panel settings", id: "embedding-cloud", onsubmit: (event) => this.disclose(event) },
      el("header", {}, el("h2", {}, t("embed_cloud"))),
      el("p", { class: "quiet" }, t("embed_cloud_hint")),
      field(t("embed_provider"), this.provider),
      field(t("embed_cloud_model"), this.model),
      field(t("embed_account"), this.account),
      this.where,
      this.said,
      el("div", { class: "row" }, el("button", { class: "primary", "data-act": "disclose" }, t("embed_disclose"))),
    );
  }

  // What somebody is typing stays; the lists follow the settings.
  update(settings) {
    const isFirst = !this.settings;
    if (JSON.stringify(settings) === JSON.stringify(this.settings)) return;
    this.settings = settings;
    const kept = isFirst ? settings.provider : this.provider.value;
    replace(this.provider, ...settings.clouds.map((each) => el("option", { value: each.provider, selected: each.provider === kept }, providerName(each.provider))));
    if (isFirst && isCloud(settings.provider)) this.model.value = settings.cloud_model;
    this.show(isFirst ? settings.cloud_account : this.account.value);
  }

  show(account = "") {
    const cloud = this.settings.clouds.find((each) => each.provider === this.provider.value);
    if (!cloud) return;
    this.model.placeholder = cloud.model;
    replace(this.account, el("option", { value: "" }, t("embed_any_account")), ...cloud.accounts.map((each) => el("option", { value: each, selected: each === account }, each)));
    replace(this.where, t(cloud.is_vendors_own ? "embed_where_own" : "embed_where_other", { host: cloud.host || "?" }));
  }

  async disclose(event) {
    event.preventDefault();
    replace(this.said);
    const wanted = { provider: this.provider.value, cloud_model: this.model.value.trim() || null, cloud_account: this.account.value || null };
    try {
      const told = await rpc("knowledge.embedding.disclosure", wanted);
      await agree(wanted, told, this.settings.provider);
    } catch (error) {
      replace(this.said, error.message);
    }
    await this.onChanged();
  }
}

// Where somebody changed the settings meanwhile, what holds now is shown and asked about anew.
async function agree(wanted, told, before, note = null) {
  let changed = null;
  const choose = async () => {
    try {
      await rpc("knowledge.embedding.select", { ...wanted, acknowledge_disclosure: true, disclosure_id: told.id });
    } catch (error) {
      if (error.code !== STALE) throw error;
      changed = await rpc("knowledge.embedding.disclosure", wanted);
    }
  };
  await ask({
    title: t("embed_disclosure_title", { provider: providerName(told.provider) }),
    body: disclosure(told, before, note),
    agreement: t("embed_agreement", { provider: providerName(told.provider), host: `${told.host}:${told.port}`, model: told.model }),
    confirm: t("embed_agree"),
    isBlocked: Boolean(told.problem),
    run: choose,
  });
  if (changed) await agree(wanted, changed, before, t("embed_changed"));
}

function disclosure(told, before, note) {
  const line = (text, kind = "") => el("p", { class: kind }, text);
  const rules = { compiled: told.rules_compiled, broken: told.rules_broken };
  const leaves = before !== told.provider && isCloud(before);
  return [
    note ? line(note, "error") : null,
    el("dl", {}, ...pair("embed_host", `${told.host}:${told.port}`), ...pair("embed_cloud_model", told.model)),
    told.is_vendors_own ? null : line(t("embed_not_own", { provider: providerName(told.provider), host: told.host }), "error warns"),
    line(t("embed_leaves")),
    line(t("embed_stays", { all: told.collections, restricted: told.restricted, local_only: told.local_only })),
    line(t("embed_rules", rules), told.rules_broken ? "error" : ""),
    told.problem ? el("p", { class: "error", role: "alert" }, t(told.problem.startsWith("redaction") ? "embed_problem_redaction" : "embed_problem_endpoint"), " ", el("code", {}, told.problem)) : null,
    told.has_key ? null : line(t("embed_why_no_key"), "error"),
    leaves ? line(t("embed_leave_cloud", { provider: providerName(before) }), "error") : null,
    line(t("embed_without_consent"), "quiet"),
  ].filter(Boolean);
}

function pair(label, value) {
  return [el("dt", {}, t(label)), el("dd", {}, value)];
}

/** Asked before a cloud provider is left for a local model or for none. */
export function leave(provider, wanted) {
  const words = wanted.provider === "none" ? "embed_leave_none" : "embed_leave_local";
  return ask({
    title: t("embed_leave_title", { provider: providerName(provider) }),
    body: [el("p", {}, t(words, { model: wanted.local_model ?? "" })), el("p", { class: "quiet" }, t("embed_leave_record"))],
    confirm: t("embed_leave"),
    run: () => rpc("knowledge.embedding.select", wanted),
  });
}
