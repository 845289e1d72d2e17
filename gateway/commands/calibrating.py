"""Asks a file's questions and moves the relevance decision to them."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gateway.catalogue import text
from gateway.commands.evaluation import BUILT
from gateway.commands.library import acting_account
from gateway.commands.model import install_model
from gateway.commands.operator import operator
from gateway.commands.output import language, say, show
from gateway.config import home_folder
from gateway.core.calibration import Calibration, Logistic
from gateway.core.fitting import Example
from gateway.core.recalibration import (
    LEAST_ANSWERABLE,
    LEAST_UNANSWERABLE,
    Moved,
    recalibrated,
    rule_name,
)
from gateway.errors import InvalidRequestError
from gateway.evals.calibrating import KEYWORD, LIMIT, Examples, examples_of, no_examples
from gateway.evals.evaluate import EvalOptions
from gateway.evals.questions import Question, read_questions
from models.calibration import find_calibration, own_calibrations, save_calibration


async def calibrate(options: argparse.Namespace) -> int:
    """Ask, fit, and store under the home what has questions enough; else InvalidRequestError."""
    if not 0 < options.keep <= 1:
        reason = text("eval.bad_option", language(), option="--keep", value=options.keep)
        raise InvalidRequestError("--keep", reason=reason)
    questions = read_questions(options.questions)
    folder = calibration_folder(home_folder(options.home))
    find = own_calibrations(folder) if options.docs is None else find_calibration
    name = EvalOptions((), Path(), model=options.model).model_name
    keys = [KEYWORD] if name is None else [KEYWORD, name]
    known = [found for found in map(find, keys) if found is not None]
    ask = _ask_library if options.docs is None else _ask_aside
    examples = await ask(options, questions, known)
    results = [recalibrated(each, examples[each.model_id], options.keep) for each in known]
    if not any(moved for _new, moved in results):
        least = {"answerable": LEAST_ANSWERABLE, "unanswerable": LEAST_UNANSWERABLE}
        raise InvalidRequestError("too few", reason=say("calibration_too_few", **least))
    lines = []
    for new, moved in results:
        if moved:
            lines += [_line(new.model_id, each) for each in moved]
            lines.append(say("calibration_saved", file=str(save_calibration(folder, new))))
    rules = [asdict(each) | {"model": new.model_id} for new, moved in results for each in moved]
    return show(options, {"rules": rules}, lines)


def calibration_folder(home: Path) -> Path:
    """Where one's own calibrations of a home are."""
    return home / "models" / "calibration"


async def _ask_aside(
    options: argparse.Namespace, questions: Sequence[Question], known: Sequence[Calibration]
) -> Examples:
    """In a throw-away library of the documents."""
    from gateway.app_evaluation import evaluation_library  # noqa: PLC0415 - as late as `eval`

    models_dir = (options.model_home or home_folder(options.home)) / "models" / "embedding"
    name = next((each.model_id for each in known if each.model_id != KEYWORD), None)
    if name is not None:
        await install_model(name, models_dir, BUILT if BUILT.is_dir() else None)
    library = evaluation_library(name, models_dir)
    return await examples_of(options.docs, questions, library, known)


async def _ask_library(
    options: argparse.Namespace, questions: Sequence[Question], known: Sequence[Calibration]
) -> Examples:
    """In the library itself, as an admin's account and with a log row a question."""
    account = acting_account(options)
    found = no_examples()
    async with operator(home_folder(options.home), language()) as gateway:
        for question in questions:
            params = {"query": question.question, "limit": LIMIT}
            result = await gateway.call("knowledge.search", params, account)
            decision = result["decision"]
            if decision is None and result["hits"]:
                raise InvalidRequestError("no decision", reason=say("calibration_needs_admin"))
            if decision is not None:
                rule = Logistic(decision["bias"], decision["weights"], decision["cut"])
                example = Example(decision["features"], question.is_answerable)
                _put(found, known, rule, example)
    return found


def _put(found: Examples, known: Sequence[Calibration], rule: Logistic, example: Example) -> None:
    for calibration in known:
        name = rule_name(calibration, rule, example.values)
        if name is not None:
            found[calibration.model_id][name].append(example)


def _line(model: str, moved: Moved) -> str:
    return say(
        "calibrated",
        rule=f"{model} {moved.name}",
        kept=f"{moved.kept:.0%}",
        answerable=moved.answerable,
        refused=f"{moved.refused:.0%}",
        unanswerable=moved.unanswerable,
        cut=f"{moved.rule.cut:.3f}",
        how=say("calibrated_weights" if moved.has_new_weights else "calibrated_cut"),
    )
