// 「試搜尋」: what a question finds in the documents one may read, and where.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { show } from "./drawer.js";
import { t } from "./i18n.js";
import { NotedRows } from "./noted.js";

export function trySearch() {
  const query = el("input", { name: "query", required: true, maxLength: 500, placeholder: t("try_search_words"), "aria-label": t("try_search_words") });
  const filters = new NotedRows({}, t("try_search_filter"));
  const found = el("ol", { class: "results found" });
  const said = el("p", { class: "quiet", role: "status" });
  const search = async (event) => {
    event.preventDefault();
    replace(said, t("thinking"));
    try {
      const answer = await rpc("knowledge.search", { query: query.value, filters: filters.value });
      replace(found, ...answer.hits.map(hit));
      replace(said, answer.hits.length ? null : t("try_search_nothing"));
    } catch (error) {
      replace(found);
      replace(said, el("span", { class: "error", role: "alert" }, error.message));
    }
  };
  const form = el("form", { class: "stack", onsubmit: search }, el("div", { class: "row" }, query, el("button", { class: "primary" }, t("try_search_go"))), filters.root);
  return el("details", { class: "try" }, el("summary", {}, t("try_search")), form, said, found);
}

function hit(each, index) {
  const place = [each.title, each.locator].filter(Boolean).join(" · ");
  const open = (event) => show({ chunk_id: each.chunk_id, n: index + 1 }, event.currentTarget);
  return el("li", {}, el("button", { class: "link", type: "button", onclick: open }, place), el("p", { class: "quiet" }, each.text.slice(0, 160)));
}
