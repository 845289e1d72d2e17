// 「設定」: a collection's name, description, labels and its deletion, for its owners.

import { rpc } from "./api.js";
import { el, replace } from "./dom.js";
import { folderChoice } from "./folders.js";
import { t } from "./i18n.js";

export const SENSITIVITIES = ["public", "internal", "personal", "restricted"];

export function sensitivityChoice(current) {
  const choice = el("select", { name: "sensitivity", "aria-label": t("sensitivity") });
  choice.append(...SENSITIVITIES.map((each) => el("option", { value: each, selected: each === current }, t(`sensitivity_${each}`))));
  return choice;
}

export class ShelfSettings {
  constructor(collection, onChanged) {
    this.collection = collection;
    this.onChanged = onChanged;
    this.root = el("div", { class: "settings" });
  }

  async open() {
    try {
      const all = await rpc("knowledge.collections.list");
      const now = all.find((each) => each.id === this.collection.id);
      if (now) this.collection = now;
      this.draw(all);
    } catch (error) {
      replace(this.root, el("p", { class: "error", role: "alert" }, error.message));
    }
  }

  draw(all) {
    const now = this.collection;
    this.name = el("input", { name: "name", required: true, maxLength: 200, value: now.name });
    this.description = el("textarea", { name: "description", rows: 3, maxLength: 2000 }, now.description);
    this.department = el("input", { name: "department", maxLength: 200, value: now.department });
    this.parent = folderChoice(all, now.parent_id, now.id);
    this.sensitivity = sensitivityChoice(now.sensitivity);
    this.isLocal = el("input", { type: "checkbox", checked: now.embedding_policy === "local_only" });
    this.said = el("p", { class: "quiet", role: "status" });
    const field = (label, input, hint) => el("label", {}, el("span", {}, label), input, hint ? el("span", { class: "quiet" }, hint) : null);
    const form = el(
      "form",
      { onsubmit: (event) => this.save(event) },
      field(t("collection_name"), this.name),
      field(t("collection_description"), this.description),
      field(t("collection_department"), this.department, t("collection_department_hint")),
      field(t("collection_parent"), this.parent, t("collection_parent_hint")),
      field(t("sensitivity"), this.sensitivity),
      el("label", { class: "check" }, this.isLocal, el("span", {}, t("local_only"))),
      el("p", { class: "quiet" }, t("collection_code", { slug: now.slug })),
      el("div", { class: "row" }, el("button", { class: "primary" }, t("save")), this.said),
    );
    replace(this.root, form, this.deletion());
  }

  deletion() {
    const typed = el("input", { "aria-label": t("delete_type_name"), placeholder: this.collection.name, autocomplete: "off" });
    const said = el("p", { class: "error", role: "alert" });
    const button = el("button", { class: "danger", disabled: true }, t("delete_collection"));
    typed.oninput = () => {
      button.disabled = typed.value.trim() !== this.collection.name;
    };
    const remove = async (event) => {
      event.preventDefault();
      try {
        await rpc("knowledge.collections.delete", { collection: this.collection.id, confirm_name: typed.value });
        this.onChanged();
      } catch (error) {
        replace(said, error.message);
      }
    };
    return el("form", { class: "deletion", onsubmit: remove }, el("p", {}, t("delete_type_name")), el("div", { class: "row" }, typed, button), said);
  }

  async save(event) {
    event.preventDefault();
    try {
      this.collection = await rpc("knowledge.collections.update", {
        collection: this.collection.id,
        version: this.collection.version,
        name: this.name.value,
        description: this.description.value,
        department: this.department.value,
        sensitivity: this.sensitivity.value,
        parent_id: this.parent.value === (this.collection.parent_id ?? "") ? null : this.parent.value,
        embedding_policy: this.isLocal.checked ? "local_only" : "any",
      });
      this.onChanged();
    } catch (error) {
      this.said.className = "error";
      replace(this.said, error.message);
      if (error.code === "conflict") this.said.append(" ", el("button", { class: "link", type: "button", onclick: () => this.open() }, t("reload")));
    }
  }
}
