// Plans to forget what was said with the help of deleted documents: an admin approves them here.

import { rpc } from "./api.js";
import { el, icon, ICONS, replace } from "./dom.js";
import { t } from "./i18n.js";

export class Plans {
  constructor() {
    this.list = el("ul", { class: "files" });
    this.said = el("p", { class: "quiet", role: "status" });
    this.panel = el(
      "section",
      { class: "panel" },
      el("header", {}, el("h2", {}, t("plans"))),
      el("p", { class: "quiet" }, t("plans_hint")),
      this.list,
      this.said,
    );
    this.root = el("div", { id: "plans" }); // empty where nothing waits
  }

  async refresh() {
    const plans = await rpc("memory.plans.list");
    const seen = JSON.stringify(plans);
    if (seen === this.seen) return;
    this.seen = seen;
    replace(this.root, plans.length || this.said.textContent ? this.panel : null);
    replace(this.list, ...plans.map((plan) => this.row(plan)));
  }

  row(plan) {
    const isPending = plan.state === "pending";
    const act = (kind, key, run) => el("button", { class: kind, type: "button", onclick: run }, t(key));
    const actions = isPending
      ? [act("primary", "plan_approve", () => this.decide(plan, true)), act("link", "plan_reject", () => this.decide(plan, false))]
      : [act("primary", "plan_apply", () => this.apply(plan))];
    return el(
      "li",
      { "data-id": plan.id },
      icon(ICONS.file),
      el("span", { class: "name" }, plan.title || plan.source_id),
      el("span", { class: "state" }, t(`plan_${plan.state}`)),
      el("span", { class: "quiet" }, t("plan_turns", { count: plan.turns })),
      ...actions,
      el("p", { class: "quiet" }, [plan.agent, plan.conversation].filter(Boolean).join(" / ")),
    );
  }

  decide(plan, approve) {
    return this.act(async () => {
      const decided = await rpc("memory.plans.decide", { id: plan.id, approve });
      return t(`plan_${decided.state}`);
    });
  }

  apply(plan) {
    return this.act(async () => {
      const done = await rpc("memory.forget.apply", { id: plan.id });
      return t("plan_applied", { count: done.turns });
    });
  }

  async act(run) {
    try {
      replace(this.said, await run());
    } catch (error) {
      replace(this.said, error.message);
    }
    this.seen = null;
    await this.refresh();
  }
}
