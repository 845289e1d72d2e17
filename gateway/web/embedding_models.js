// One local model in the list: size, licence, state, how far an install is, and what can be done.

import { ask } from "./dialog.js";
import { rpc } from "./api.js";
import { el } from "./dom.js";
import { language, t } from "./i18n.js";

const MB = 1e6;
const NOTES = { "qwen3-embedding-0.6b": "embed_note_qwen" };

export function modelRow(model, status, settings, page) {
  const size = new Intl.NumberFormat(language(), { maximumFractionDigits: 0 }).format(model.size / MB);
  return el(
    "li",
    { "data-id": model.name },
    el("span", { class: "name" }, model.name),
    el("span", { class: "tag" }, `${size} MB`),
    el("span", { class: "tag" }, model.licence),
    el("span", { class: "quiet" }, t("embed_dimensions", { count: model.dimensions })),
    ...states(model, status, settings).map(([kind, text]) => el("span", { class: `state ${kind}` }, text)),
    model.progress ? progress(model) : null,
    ...buttons(model, settings, page),
    NOTES[model.name] ? el("p", { class: "quiet" }, t(NOTES[model.name])) : null,
    model.has_bundle ? el("p", { class: "quiet" }, t("embed_bundle")) : null,
    model.failure_message && !model.progress ? el("p", { class: "error" }, model.failure_message) : null,
  );
}

/** The name in a key of vectors: `local:NAME@BUILD/…`, or the whole of another. */
export function nameOfKey(key) {
  return key.startsWith("local:") ? key.slice("local:".length).split("@")[0] : key;
}

function states(model, status, settings) {
  if (model.progress) return [["moving", t("embed_state_installing")]];
  const found = [stateOf(model)];
  if (model.is_selected && settings.provider === "local") {
    const isServing = status.model.startsWith(`local:${model.name}@`) && !status.unavailable;
    found.push(isServing ? ["ready", t("embed_in_use")] : ["", t("embed_chosen")]);
  }
  return found;
}

function stateOf(model) {
  if (model.state === "installed") return model.is_verified ? ["ready", t("embed_state_verified")] : ["ready", t("embed_state_installed")];
  return model.state === "damaged" ? ["failed", t("embed_state_damaged")] : ["", t("embed_state_not_installed")];
}

function progress(model) {
  const { step, done, total } = model.progress;
  const words = step ? t(`embed_step_${step}`) : t("embed_step_waiting");
  const percent = total ? ` ${Math.floor((100 * done) / total)} %` : "";
  const bar = total ? el("progress", { max: total, value: done, "aria-label": words }) : el("progress", { "aria-label": words });
  return el("p", { class: "installing" }, bar, ` ${words}${percent}`);
}

function buttons(model, settings, page) {
  const named = { model: model.name };
  const button = (act, text, onclick) => page.button(`${act} ${model.name}`, text, onclick, `${text} ${model.name}`);
  if (model.progress) return [button("cancel", t("embed_cancel"), () => page.act("cancel", named))];
  const isThere = model.state === "installed";
  const isChosen = model.is_selected && settings.provider === "local";
  const source = isThere || model.sources.length < 2 ? null : sourceChoice(model, page);
  const install = () => page.act("install", { ...named, source: page.sources.get(model.name) ?? null });
  const verify = () => page.act("verify_offline", named, (found) => t(found.from_bundle ? "embed_bundle_installed" : "embed_verified", { model: found.model }));
  const select = () => page.choose(settings, { provider: "local", local_model: model.name });
  return [
    source,
    isThere ? null : button("install", t("embed_install"), install),
    isThere && !isChosen ? button("select", t("embed_select"), select) : null,
    model.state !== "not_installed" || model.has_bundle ? button("verify", t("embed_verify"), verify) : null,
    model.state !== "not_installed" ? button("remove", t("embed_remove"), () => remove(model, isChosen, page)) : null,
  ];
}

function sourceChoice(model, page) {
  const choice = el("select", { "aria-label": t("embed_source", { model: model.name }) });
  const chosen = page.sources.get(model.name) ?? model.source;
  choice.append(...model.sources.map((each) => el("option", { value: each, selected: each === chosen }, t(`embed_source_${each}`))));
  choice.onchange = () => page.sources.set(model.name, choice.value);
  return choice;
}

async function remove(model, isChosen, page) {
  const body = [el("p", {}, t("embed_remove_hint")), isChosen ? el("p", { class: "error" }, t("embed_remove_in_use")) : null];
  await ask({
    title: t("embed_remove_title", { model: model.name }),
    body: body.filter(Boolean),
    confirm: t("embed_remove"),
    run: () => rpc("knowledge.embedding.remove", { model: model.name }),
  });
  await page.look();
}
