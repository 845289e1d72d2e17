// A question that must be answered before anything else: one at a time, decided once.

import { el, replace } from "./dom.js";
import { t } from "./i18n.js";

let current = null;

/** The page behind it is left: whatever it asked is not answered. */
export function dismiss() {
  current?.close();
}

/**
 * Ask. `body` are nodes; `agreement`, if given, has to be ticked first; `isBlocked`: there is nothing
 * to agree to. `run` does what was agreed to, once, and may throw a Failure: then the question stays.
 * Resolves to whether it was done.
 */
export function ask({ title, body, agreement, confirm, isBlocked, run }) {
  dismiss();
  let isBusy = false;
  let isDone = false;
  const said = el("p", { class: "error", role: "alert" });
  const tick = el("input", { type: "checkbox", onchange: () => ready() });
  const no = el("button", { class: "link", type: "button", onclick: () => dialog.close() }, t(isBlocked ? "close" : "embed_cancel"));
  const yes = el("button", { class: "primary", type: "button", onclick: () => go() }, confirm);
  const heading = el("h2", { id: "dialog-title" }, title);
  const dialog = el("dialog", { "aria-labelledby": "dialog-title" });
  const ready = () => {
    yes.disabled = isBusy || (Boolean(agreement) && !tick.checked);
    no.disabled = tick.disabled = isBusy;
  };
  const go = async () => {
    if (isBusy || isBlocked) return;
    isBusy = true;
    ready();
    replace(said);
    try {
      await run();
      isDone = true;
      dialog.close();
    } catch (error) {
      isBusy = false;
      ready();
      replace(said, error.message);
    }
  };
  const tickRow = agreement && !isBlocked ? el("label", { class: "check" }, tick, el("span", {}, agreement)) : null;
  replace(dialog, heading, ...body, tickRow, said, el("div", { class: "row" }, isBlocked ? null : yes, no));
  dialog.oncancel = (event) => {
    if (isBusy) event.preventDefault(); // it was agreed to already
  };
  ready();
  document.body.append(dialog);
  current = dialog;
  return new Promise((resolve) => {
    dialog.onclose = () => {
      dialog.remove();
      if (current === dialog) current = null;
      resolve(isDone);
    };
    dialog.showModal();
  });
}
