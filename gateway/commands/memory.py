"""`memory forget-source`: plans to forget what was said with the help of a deleted document."""

import argparse
from typing import Any

from gateway.commands.operator import operator
from gateway.commands.output import language, say, show, show_table
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.core.forgetting import PlanState


def register(commands: Commands) -> None:
    """Add these commands."""
    listing = commands.add("memory forget-source list", list_plans, account=True)
    listing.add_argument(
        "--state",
        action="append",
        default=[],
        choices=[state.value for state in PlanState],
        help=say("opt_plan_state"),
    )
    apply = commands.add("memory forget-source apply", apply_plan, account=True)
    apply.add_argument("plan")


async def _one(options: argparse.Namespace, method: str, params: dict[str, Any]) -> Any:
    async with operator(home_folder(options.home), language()) as gateway:
        return await gateway.call(method, params, options.account)


async def list_plans(options: argparse.Namespace) -> int:
    rows = await _one(options, "memory.plans.list", {"states": options.state})
    return show_table(options, rows, "id", "state", "title", "agent", "conversation", "turns")


async def apply_plan(options: argparse.Namespace) -> int:
    done = await _one(options, "memory.forget.apply", {"id": options.plan})
    return show(options, done, [say("plan_applied", id=done["id"], turns=done["turns"])])
