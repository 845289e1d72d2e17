// The page of a platform's own linking flow: who is signed in, then on to the platform.

import { post, session, signOut, whenSignedOut } from "./api.js";
import { el, replace } from "./dom.js";
import { preferred, t, use } from "./i18n.js";
import { platformName } from "./links.js";
import { brand, languageChoice, showSignIn } from "./sign_in.js";

const app = document.getElementById("app");
const token = new URLSearchParams(location.search).get("linkToken") ?? "";
const [, , channel, account] = location.pathname.split("/").map(decodeURIComponent);

async function start() {
  await use(preferred());
  whenSignedOut(() => showSignIn(app, ask));
  const me = await session().catch(() => null);
  if (me) ask(me);
  else showSignIn(app, ask);
}

function ask(me) {
  const said = el("p", { class: "error", role: "alert" });
  const button = el("button", { class: "primary", type: "submit" }, t("link_here"));
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      const { url } = await post(location.pathname, { linkToken: token });
      location.assign(url);
    } catch (error) {
      replace(said, error.message);
      button.disabled = false;
    }
  };
  const other = async () => {
    await signOut();
    showSignIn(app, ask);
  };
  const form = el(
    "form",
    { class: "sign-in", onsubmit: submit },
    brand(),
    el("p", {}, t("link_question", { platform: platformName(channel), bot: account, name: me.display_name, login: me.login })),
    el("p", { class: "quiet" }, t("link_warning")),
    said,
    button,
    el("button", { class: "link", type: "button", onclick: other }, t("other_account")),
    languageChoice(() => ask(me)),
  );
  replace(app, el("div", { class: "front" }, form));
  button.focus();
}

start();
