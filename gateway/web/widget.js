// One script tag on any site puts a chat button there:
//   <script src="https://chat.example.com/widget.js" data-agent="assistant" async></script>
// Optional: data-language (zh-TW, ja, en) and data-position (right, left). The conversation lies in
// a frame of our own origin, so the site never sees a visitor's token, and its styles and scripts
// stay out of the chat. Without leave for this site the frame stays empty and no button appears.

(() => {
  "use strict";
  const script = document.currentScript;
  const agent = script?.dataset.agent;
  if (!agent || !document.documentElement.attachShadow) return;
  const mark = "data-shutten-widget";
  if (document.querySelector(`[${mark}]`)) return;
  const home = new URL(script.src).origin;
  const side = script.dataset.position === "left" ? "left" : "right";
  const address = new URL(`/widget/${encodeURIComponent(agent)}`, home);
  if (script.dataset.language) address.searchParams.set("language", script.dataset.language);

  const CSS = `
    :host { all: initial; }
    button {
      position: fixed; ${side}: max(20px, env(safe-area-inset-${side})); bottom: max(20px, env(safe-area-inset-bottom));
      z-index: 2147483000; width: 56px; height: 56px; padding: 0; border: 0; border-radius: 50%;
      background: #2f5d50; color: #fff; cursor: pointer; display: grid; place-items: center;
      box-shadow: 0 4px 16px rgb(0 0 0 / .25);
    }
    button:hover { background: #26503f; }
    button:focus-visible { outline: 3px solid #e0a83c; outline-offset: 3px; }
    svg { width: 26px; height: 26px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
    iframe {
      position: fixed; ${side}: 20px; bottom: 90px; z-index: 2147483001;
      width: min(400px, calc(100vw - 40px)); height: min(620px, calc(100vh - 110px));
      border: 0; border-radius: 16px; box-shadow: 0 8px 32px rgb(0 0 0 / .25); color-scheme: normal;
    }
    [hidden] { display: none; }
    @media (max-width: 480px) {
      iframe { inset: 0; width: 100%; height: 100%; border-radius: 0; }
    }
    @media print { button, iframe { display: none; } }
  `;

  function start() {
    const host = document.createElement("div");
    host.setAttribute(mark, agent);
    const root = host.attachShadow({ mode: "open" });
    style(root);
    const button = document.createElement("button");
    button.type = "button";
    button.hidden = true;
    button.setAttribute("aria-haspopup", "dialog");
    button.append(bubble());
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    frame.referrerPolicy = "no-referrer";
    let labels = {};

    function show(isOpen) {
      frame.hidden = !isOpen;
      button.setAttribute("aria-expanded", String(isOpen));
      button.setAttribute("aria-label", (isOpen ? labels.close : labels.open) ?? "");
      if (isOpen) {
        frame.contentWindow.postMessage({ type: "shutten:open" }, home);
        frame.focus();
      } else button.focus();
    }

    button.addEventListener("click", () => show(frame.hidden));
    window.addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== home) return;
      if (event.data?.type === "shutten:ready") {
        labels = { open: String(event.data.open), close: String(event.data.close) };
        frame.title = String(event.data.title);
        button.setAttribute("aria-label", frame.hidden ? labels.open : labels.close);
        button.setAttribute("aria-expanded", String(!frame.hidden));
        button.hidden = false;
      } else if (event.data?.type === "shutten:close") show(false);
    });
    frame.src = address.href;
    root.append(button, frame);
    document.body.append(host);
  }

  // a constructed style sheet needs no leave of the site's Content-Security-Policy
  function style(root) {
    try {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(CSS);
      root.adoptedStyleSheets = [sheet];
    } catch {
      const element = document.createElement("style");
      if (script.nonce) element.nonce = script.nonce;
      element.textContent = CSS;
      root.append(element);
    }
  }

  function bubble() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("d", "M21 12a8 8 0 0 1-8 8H4l2-3.5A8 8 0 1 1 21 12z");
    svg.append(line);
    return svg;
  }

  if (document.body) start();
  else document.addEventListener("DOMContentLoaded", start, { once: true });
})();
