// Which collection lies in which: the tree of the list, and the choice of a place in it.

import { el } from "./dom.js";
import { t } from "./i18n.js";

// Those at the top, each with what lies in it; a parent that is not listed is none.
export function treeOf(collections) {
  const nodes = new Map(collections.map((collection) => [collection.id, { collection, inside: [] }]));
  const top = [];
  for (const node of nodes.values()) {
    const parent = nodes.get(node.collection.parent_id);
    (parent ? parent.inside : top).push(node);
  }
  return top;
}

export function pathOf(collection, collections) {
  const parent = collections.find((each) => each.id === collection.parent_id);
  return parent ? `${pathOf(parent, collections)} / ${collection.name}` : collection.name;
}

// Where one may put something: what one edits, never the moved one itself nor what lies in it.
export function folderChoice(collections, current, moved = null) {
  const within = (each) => each && (each.id === moved || within(collections.find((one) => one.id === each.parent_id)));
  const may = (each) => each.id === current || each.role !== "viewer";
  const choice = el("select", { name: "parent", "aria-label": t("collection_parent") });
  choice.append(el("option", { value: "" }, t("collection_top")));
  for (const each of collections.filter((one) => may(one) && !within(one))) {
    choice.append(el("option", { value: each.id, selected: each.id === current }, pathOf(each, collections)));
  }
  return choice;
}

// A panel and, beneath it, those of the folders that lie in it.
export function branch(node, panelOf) {
  const panel = panelOf(node.collection);
  if (!node.inside.length) return [panel];
  const inside = node.inside.flatMap((each) => branch(each, panelOf));
  const summary = el("summary", {}, t("collections_inside", { name: node.collection.name, count: node.inside.length }));
  return [panel, el("details", { class: "inside", open: true }, summary, ...inside)];
}
