// The page's sentences, from the gateway's catalogue.

export const LANGUAGES = [["zh-TW", "繁體中文"], ["ja", "日本語"], ["en", "English"]];
let strings = {};
let current = "zh-TW";

export function preferred() {
  for (const wanted of navigator.languages ?? []) {
    const found = LANGUAGES.find(([code]) => code.slice(0, 2) === wanted.slice(0, 2).toLowerCase());
    if (found) return found[0];
  }
  return "zh-TW";
}

export async function use(language) {
  const response = await fetch(`/web/strings/${encodeURIComponent(language)}`);
  if (!response.ok) return;
  strings = await response.json();
  current = language;
  document.documentElement.lang = language;
  document.title = t("title");
}

export function language() {
  return current;
}

export function t(key, params = {}) {
  const template = strings[key] ?? key;
  return template.replace(/\{(\w+)\}/g, (whole, name) => params[name] ?? whole);
}
