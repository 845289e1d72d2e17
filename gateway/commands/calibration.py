"""`knowledge calibrate`: the relevance decision moved to one's own questions."""

import argparse
from pathlib import Path

from gateway.commands.output import say
from gateway.commands.tree import Commands

KEPT = 0.95


def register(commands: Commands) -> None:
    """Add this command."""
    command = commands.add("knowledge calibrate", calibrate, account=True)
    command.add_argument("--questions", type=Path, required=True, help=say("opt_questions"))
    command.add_argument("--docs", type=Path, help=say("opt_calibrate_docs"))
    command.add_argument("--model", default="none", help=say("opt_eval_model"))
    command.add_argument("--model-home", type=Path, help=say("opt_model_home"))
    command.add_argument("--keep", type=float, default=KEPT, help=say("opt_keep"))


async def calibrate(options: argparse.Namespace) -> int:
    """Ask, fit, and store under the home what has questions enough; else InvalidRequestError."""
    from gateway.commands import calibrating  # noqa: PLC0415 - no other command waits for it

    return await calibrating.calibrate(options)
