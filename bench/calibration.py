"""Fits the shipped rules on a folder of sets: python -m bench.calibration SETS MODELS_DIR OUT.

SETS has one folder a set, each with docs/ and questions.jsonl as `knowledge eval` takes them, those
across languages with names that begin with xling; MODELS_DIR is where the model is installed. Every
set is asked as a whole and in parts of about 30 and 4 passages, so that small libraries are judged
as well, and a third of the next set's questions of it as ones that it cannot answer, for the rules
without shared words: across languages and, learning from the same answers, within one language.
OUT gets both calibrations with new rules; centring and order stay as shipped.
"""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from gateway.app_evaluation import evaluation_library
from gateway.core.calibration import Calibration, Logistic
from gateway.core.fitting import Example, cut_keeping, fit, probability
from gateway.evals.calibrating import KEYWORD, Examples, examples_of, examples_of_each
from gateway.evals.questions import Question, read_questions
from models.calibration import find_calibration, save_calibration

MODEL = "multilingual-e5-small"
KEPT = 0.95
WHOLE = 2.0  # what an example of a whole set counts, against one of a small library
CHARS_A_PASSAGE = 500
SMALL = (30, 4)
FOREIGN_SHARE = 0.25  # of the answerable ones' weight, across languages
FOREIGN_STEP = 3
PARTS = 20  # small libraries a set and size: each is opened anew
WORDS = ("coverage", "sentence_coverage", "verbatim")
MEANING = ("cosine", "cosine_gap")
ACROSS = ("cross_language", "wordless")
CROSS = "xling"  # of these sets only hits in another language can be right
FEATURES = {
    "same_language": (*WORDS, *MEANING, "margin"),
    "cross_language": MEANING,
    "vector_only": MEANING,
    "wordless": ("cosine_rise",),
}
KEYWORD_FEATURES = {"same_language": WORDS}


def parts(documents: Path, passages: int) -> Iterator[list[Path]]:
    """The documents in turn, in groups of about so many passages."""
    group: list[Path] = []
    length = 0
    for path in sorted(documents.iterdir()):
        group.append(path)
        length += len(path.read_text("utf-8", "replace")) // CHARS_A_PASSAGE + 1
        if length >= passages:
            yield group
            group, length = [], 0


def asked_of(group: Sequence[Path], questions: Sequence[Question]) -> list[Question]:
    """The questions that a group answers, and every fifth of those that no document answers."""
    names = {path.name for path in group}
    here = [q for q in questions if q.is_answerable and any(g.source in names for g in q.gold)]
    return [*here, *[q for q in questions if not q.is_answerable][::5]]


def small_libraries(
    folder: Path, questions: Sequence[Question], size: int
) -> Iterator[tuple[list[Path], list[Question]]]:
    """Parts of a set with their questions; across languages few of its documents answer any."""
    is_sparse = folder.name.startswith(CROSS)
    for group in parts(folder / "docs", size):
        asked = asked_of(group, questions)
        if not is_sparse or any(question.is_answerable for question in asked):
            yield group, asked


async def examples(
    folder: Path, other: Path, models_dir: Path, known: Sequence[Calibration]
) -> list[Examples]:
    """Of the whole set first, then of its small libraries, then of another set's questions."""
    questions = read_questions(folder / "questions.jsonl")
    library = evaluation_library(MODEL, models_dir)
    foreign = [
        msgspec.structs.replace(question, answerable=False)
        for question in read_questions(other / "questions.jsonl")[::FOREIGN_STEP]
    ]
    whole, asked_there = await examples_of_each(
        folder / "docs", [questions, foreign], library, known
    )
    found = [whole]
    for size in SMALL:
        for group, asked in islice(small_libraries(folder, questions, size), PARTS):
            with tempfile.TemporaryDirectory() as part:
                for path in group:
                    shutil.copy(path, part)
                found.append(await examples_of(Path(part), asked, library, known))
    across = {MODEL: {name: asked_there[MODEL][name] for name in ACROSS}}
    if folder.name.startswith(CROSS):
        found = [{MODEL: {"cross_language": each[MODEL]["cross_language"]}} for each in found]
    return [*found, across]


def rules(gathered: Sequence[Sequence[Examples]], model: str) -> dict[str, Logistic]:
    """Each rule fitted; those that decide a hybrid search share one cut, pooled."""
    fitted: dict[str, Logistic] = {}
    whole: dict[str, list[Example]] = {}
    across: list[Example] = []
    for name, columns in (KEYWORD_FEATURES if model == KEYWORD else FEATURES).items():
        of_rule = [[each.get(model, {}).get(name, []) for each in found] for found in gathered]
        whole[name] = [example for first, *_ in of_rule for example in first]
        small = [example for _, *rest in of_rule for part in rest for example in part]
        weighted = [*(replace(example, count=WHOLE) for example in whole[name]), *small]
        if name == "wordless":  # across languages no words are shared either
            weighted += across
        if name == "cross_language":
            across = weighted
        fitted[name] = fit(_levelled(weighted) if name in ACROSS else weighted, columns)
    pooled = [name for name in fitted if name != "vector_only"]
    cut = {
        name: round(_cut(fitted, whole, pooled if name in pooled else [name]), 4) for name in fitted
    }
    final = {name: replace(rule, cut=cut[name]) for name, rule in fitted.items()}
    for name, rule in final.items():
        _tell(f"{model} {name}", rule, whole[name])
    return final


def _levelled(examples: Sequence[Example]) -> list[Example]:
    """With the unanswerable ones weighing FOREIGN_SHARE of the others, however many they are."""
    yes = sum(each.count for each in examples if each.is_answerable)
    no = sum(each.count for each in examples if not each.is_answerable)
    share = FOREIGN_SHARE * yes / max(no, 1e-9)
    return [
        each if each.is_answerable else replace(each, count=each.count * share) for each in examples
    ]


def _cut(
    fitted: Mapping[str, Logistic], whole: Mapping[str, Sequence[Example]], names: Sequence[str]
) -> float:
    kept = [
        probability(fitted[name], each.values)
        for name in names
        for each in whole[name]
        if each.is_answerable
    ]
    return cut_keeping(kept, KEPT)


def _tell(name: str, rule: Logistic, whole: Sequence[Example]) -> None:
    yes = [probability(rule, each.values) >= rule.cut for each in whole if each.is_answerable]
    no = [probability(rule, each.values) < rule.cut for each in whole if not each.is_answerable]
    print(f"{name}: kept {sum(yes)} of {len(yes)}, refused {sum(no)} of {len(no)}")


async def gather(folders: Sequence[Path], models_dir: Path) -> list[Calibration]:
    """The shipped calibrations with new rules."""
    known = [found for key in (KEYWORD, MODEL) if (found := find_calibration(key)) is not None]
    others = [*folders[1:], *folders[:1]]
    gathered = [
        await examples(folder, other, models_dir, known)
        for folder, other in zip(folders, others, strict=True)
    ]
    new = []
    for calibration in known:
        fitted = rules(gathered, calibration.model_id)
        same = fitted["same_language"]
        cross, alone = fitted.get("cross_language", same), fitted.get("vector_only", same)
        new.append(
            replace(
                calibration,
                same_language=same,
                cross_language=cross,
                vector_only=alone,
                wordless=fitted.get("wordless"),
            )
        )
    return new


def main(sets: Path, models_dir: Path, out: Path) -> None:
    """Write OUT/keyword.json and OUT/MODEL.json."""
    folders = sorted(path for path in sets.iterdir() if path.is_dir())
    for calibration in asyncio.run(gather(folders, models_dir)):
        save_calibration(out, calibration)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
