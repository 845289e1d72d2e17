// The sign-in form, for the page and for LINE's linking page.

import { signIn } from "./api.js";
import { el, replace } from "./dom.js";
import { LANGUAGES, language, t, use } from "./i18n.js";

export function brand() {
  return el("div", { class: "brand" }, el("img", { src: "/web/icon.svg", alt: "", width: "28", height: "28" }), el("strong", {}, t("title")));
}

export function languageChoice(onChange) {
  const options = LANGUAGES.map(([code, name]) => el("option", { value: code, selected: code === language() }, name));
  const choice = el("select", { class: "language", "aria-label": t("language") }, ...options);
  choice.onchange = async () => {
    await use(choice.value);
    onChange();
  };
  return choice;
}

export function showSignIn(app, enter) {
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
    languageChoice(() => showSignIn(app, enter)),
  );
  replace(app, el("div", { class: "front" }, form));
  login.focus();
}
