"""`search` and `knowledge …`: keeping the library and looking into it."""

import argparse
from typing import Any

from gateway.commands.operator import Operator, operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.core.access import Role, Sensitivity
from gateway.core.metadata import named_value
from gateway.errors import InvalidRequestError


def register(commands: Commands) -> None:
    """Add these commands."""
    search = commands.add("search", search_library, account=True)
    search.add_argument("query")
    search.add_argument("--collection", action="append", default=[], help=say("opt_collection"))
    search.add_argument(
        "--filter", action="append", default=[], metavar="KEY=VALUE", help=say("opt_filter")
    )
    search.add_argument("--limit", type=int, default=5, help=say("opt_limit"))
    search.add_argument("--explain", action="store_true", help=say("opt_explain"))
    commands.add("knowledge list", list_collections, account=True)
    create = commands.add("knowledge create", create_collection, account=True)
    create.add_argument("name")
    create.add_argument("--slug", default="", help=say("opt_slug"))
    create.add_argument("--description", default="")
    create.add_argument(
        "--sensitivity",
        choices=[level.value for level in Sensitivity],
        default="internal",
        help=say("opt_sensitivity"),
    )
    grant = commands.add("knowledge grant", grant_role, account=True)
    grant.add_argument("collection")
    grant.add_argument("subject", help=say("opt_subject"))
    grant.add_argument("role", choices=[*(role.value for role in Role), "none"])
    for name, run in (
        ("knowledge grants", list_grants),
        ("knowledge sources", list_sources),
        ("knowledge remove", remove_source),
    ):
        command = commands.add(name, run, account=True)
        command.add_argument("source" if run is remove_source else "collection")
        if run is remove_source:
            command.add_argument("--forget", action="store_true", help=say("opt_forget"))


def acting_account(options: argparse.Namespace) -> str:
    """The --as account; reading and adding always need one (DESIGN section 8.5)."""
    if options.account is None:
        raise InvalidRequestError("no --as", reason=say("as_needed"))
    return str(options.account)


async def search_library(options: argparse.Namespace) -> int:
    params = {
        "query": options.query,
        "collections": options.collection,
        "limit": options.limit,
        "filters": dict(map(named_value, options.filter)),
    }
    result = await _one(options, "knowledge.search", params)
    lines = []
    for n, hit in enumerate(result["hits"], 1):
        place = f" · {hit['locator']}" if hit["locator"] else ""
        lines.append(f"[{n}] {hit['title']}{place}")
        if options.explain:
            lines.append(
                f"    score {hit['score']:.3f} lexical #{hit['lexical_rank']} "
                f"vector #{hit['vector_rank']} cosine {hit['cosine']}"
            )
        lines.append("    " + " ".join(hit["text"].split())[:160])
    lines.append(
        say(
            "search_mode",
            mode=result["mode"],
            coverage=f"{result['coverage']:.0%}",
            reason=result["vector_unavailable"] or "-",
            relevance=f"{result['relevance']:.2f}",
        )
    )
    if options.explain and result["decision"] is not None:
        lines += _decision(result)
    return show(options, result, lines)


def _decision(result: dict[str, Any]) -> list[str]:
    """The cut and the bias, then a line a feature: its value, its weight and what it adds."""
    decision = result["decision"]
    verdict = say("explain_kept" if result["is_relevant"] else "explain_refused")
    told = say("explain_decision", verdict=verdict, cut=f"{decision['cut']:.3f}")
    lines = [f"{told} {decision['bias']:+.2f}"]
    for name, value in decision["features"].items():
        weight = decision["weights"].get(name, 0.0)
        lines.append(f"    {name:<18} {value:6.3f} × {weight:6.2f} = {value * weight:+.2f}")
    return lines


async def list_collections(options: argparse.Namespace) -> int:
    rows = await _one(options, "knowledge.collections.list", {})
    return show_table(options, rows, "slug", "name", "sensitivity", "role", "sources", "passages")


async def create_collection(options: argparse.Namespace) -> int:
    params = {
        "name": options.name,
        "slug": options.slug,
        "description": options.description,
        "sensitivity": options.sensitivity,
    }
    made = await _one(options, "knowledge.collections.create", params)
    return show(options, made, [say("collection_made", slug=made["slug"])])


async def grant_role(options: argparse.Namespace) -> int:
    kind, _, subject = options.subject.partition(":")
    account = acting_account(options)
    async with operator(home_folder(options.home), language()) as gateway:
        where = {"collection": options.collection}
        now = await gateway.call("knowledge.grants.list", where, account)
        if kind == "user":
            subject = await _account_id(gateway, subject)
        others = [
            line
            for line in now["grants"]
            if (line["subject_kind"], line["subject_id"]) != (kind, subject)
        ]
        if options.role != "none":
            others.append({"subject_kind": kind, "subject_id": subject, "role": options.role})
        params = {**where, "version": now["version"], "grants": others}
        saved = await gateway.call("knowledge.grants.replace", params, account)
    told = [warning["message"] for warning in saved["warnings"] if warning["subject_id"] == subject]
    lines = [say("granted", subject=options.subject, role=options.role), *told]
    return show(options, saved, lines)


async def _account_id(gateway: Operator, login: str) -> str:
    for row in await gateway.call("accounts.list", {}, None):
        if login in (row["login"], row["id"]):
            return str(row["id"])
    return login


async def list_grants(options: argparse.Namespace) -> int:
    result = await _one(options, "knowledge.grants.list", {"collection": options.collection})
    return show_table(options, result["grants"], "subject_kind", "subject_id", "role")


async def list_sources(options: argparse.Namespace) -> int:
    rows = await _one(options, "knowledge.sources.list", {"collection": options.collection})
    return show_table(
        options, rows, "title", "state", "status_detail", "passages", "error_code", "id"
    )


async def remove_source(options: argparse.Namespace) -> int:
    params = {"source_id": options.source, "also_forget_memories": options.forget}
    planned = await _one(options, "knowledge.sources.delete", params)
    lines = [say("source_removed")]
    if options.forget:
        lines.append(say("forget_planned", **planned))
    return show(options, {"removed": options.source, **planned}, lines)


async def _one(options: argparse.Namespace, method: str, params: dict[str, Any]) -> Any:
    account = acting_account(options)
    async with operator(home_folder(options.home), language()) as gateway:
        return await gateway.call(method, params, account)
