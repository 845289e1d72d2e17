"""`knowledge eval`: recall and refusal over one's own documents and questions."""

import argparse
import sys
from pathlib import Path

import gateway
from gateway.catalogue import text
from gateway.commands.model import install_model
from gateway.commands.output import DONE, FAILED, language, say, show
from gateway.commands.tree import Commands
from gateway.config import home_folder
from gateway.errors import InvalidRequestError
from gateway.system import SystemClock

BUILT = Path(gateway.__file__).parents[1] / ".demo" / "models"  # of a source checkout


def register(commands: Commands) -> None:
    """Add this command."""
    command = commands.add("knowledge eval", run_evaluation)
    command.add_argument("--docs", type=Path, required=True, action="append", help=say("opt_docs"))
    command.add_argument("--questions", type=Path, required=True, help=say("opt_questions"))
    command.add_argument("--model", default="none", help=say("opt_eval_model"))
    command.add_argument("--model-home", type=Path, help=say("opt_model_home"))
    command.add_argument("--modes", default="", help=say("opt_modes"))
    command.add_argument("--k", type=int, default=5, help=say("opt_k"))
    command.add_argument("--min-recall", type=float, help=say("opt_min_recall"))
    command.add_argument("--report", type=Path, help=say("opt_report"))
    command.add_argument("--work-dir", type=Path, help=say("opt_work_dir"))


async def run_evaluation(options: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415 - no other command has to wait for these
    from rich.progress import Progress  # noqa: PLC0415

    from gateway.app_evaluation import evaluation_library  # noqa: PLC0415
    from gateway.evals.evaluate import EvalOptions, evaluate  # noqa: PLC0415

    asked = EvalOptions(
        docs=tuple(options.docs),
        questions=options.questions,
        model=options.model,
        model_home=options.model_home,
        modes=tuple(mode.strip() for mode in options.modes.split(",") if mode.strip()),
        k=options.k,
        min_recall=options.min_recall,
        work_dir=options.work_dir,
    )
    _check_report(options.report)
    models_dir = (options.model_home or home_folder(options.home)) / "models" / "embedding"
    if asked.model_name is not None:  # measured at once, without a step before
        await install_model(asked.model_name, models_dir, BUILT if BUILT.is_dir() else None)
    console = Console(stderr=True)  # standard output is the report's
    with Progress(console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        tasks = {}

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total)

        open_library = evaluation_library(asked.model_name, models_dir)
        report = await evaluate(asked, open_library, SystemClock(), progress)
    if options.report is not None:
        report.write(options.report)
    show(options, report.to_json(), report.lines(language()))
    return DONE if report.is_met else FAILED


def _check_report(report: Path | None) -> None:
    """Before an hour's work, not after it."""
    if report is not None and not report.parent.is_dir():
        folder = str(report.parent)
        reason = text("eval.no_report_folder", language(), folder=folder)
        raise InvalidRequestError("no folder for the report", reason=reason)
