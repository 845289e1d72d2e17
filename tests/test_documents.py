"""The papers name only what exists: paths, symbols, commands, options, operations, settings."""

import argparse
import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gateway.commands.parser import parser
from gateway.errors import TABLE
from gateway.surfaces.mcp_document_cards import SIX
from tests.generated_pages import PAGES, opened

ROOT = Path(__file__).parents[1]
MOST_LINES = {"README.md": 180, "ARCHITECTURE.md": 250, "CONTRIBUTING.md": 150}
PAPERS = [
    *(ROOT / name for name in (*MOST_LINES, "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "adr").glob("*.md")),
]
FOLDERS = r"(?:gateway|channels|models|tests|bench|docs|\.ci)"
A_PATH = re.compile(rf"(?<![\w./:~-]){FOLDERS}/[\w./-]*\w")
OF_A_HOME = re.compile(  # the same words name folders of a home; see docs/operating.md
    r"models/(?:embedding)?"
)
HOSTS = {"127.0.0.1:8787", "your.host"}
ADDRESS = re.compile(r"https?://([^/\s`)\"]+)")
MACHINE_PATH = re.compile(r"(?<![\w.~:/}>-])/(?:root|home|work|tmp|usr|var|opt|mnt|srv)/")
NOT_OUR_SUBJECT = re.compile(
    r"\b(?:helpers?|sub-?agents?|issue \d+|this session|workplace|the brief)\b", re.IGNORECASE
)
A_SPAN = re.compile(r"`([^`\n]+)`")
A_FENCE = re.compile(r"^ *```\w*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
A_SYMBOL = re.compile(r"([A-Z]\w*[a-z]\w*)(?:\.(\w+))?(?:\(\))?")
A_FUNCTION = re.compile(r"([a-z_]\w*)\(\)|([a-z]+(?:_[a-z0-9]+)+)")
AN_OPERATION = re.compile(
    r"(?:auth|accounts|agents|links|knowledge|chat|scope|outbox)(?:\.[a-z_]+)+"
)
AN_OPTION = re.compile(r"--[a-z][a-z-]+")
A_TABLE = re.compile(r"\[([a-z_]{2,}(?:\.[a-z_<>]+)*)\](?: ([a-z_]+))?")
FOREIGN_WORDS = {"None", "True", "False"}  # that look like symbols and are Python's own
TOOLS = {card.name for card in SIX}


def prose(path: Path) -> str:
    """A paper without its fenced blocks."""
    return A_FENCE.sub("", path.read_text("utf-8"))


def spans(path: Path) -> list[str]:
    return A_SPAN.findall(prose(path))


def fenced(path: Path) -> list[str]:
    """Lines of the fenced blocks, without comments."""
    blocks = A_FENCE.findall(path.read_text("utf-8"))
    lines = (re.sub(r"\s+# .*", "", line).strip() for block in blocks for line in block.split("\n"))
    return [line for line in lines if line]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def classes() -> dict[str, set[str]]:
    """Class -> its methods, fields and members; all classes of one name together."""
    found: dict[str, set[str]] = {}
    for path in python_files("gateway", "channels", "models"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_members(node))
    return found


def _members(node: ast.ClassDef | ast.Module) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
            case _:
                continue


@cache
def code_words() -> frozenset[str]:
    """Every word of the code and its data: names, keys, codes, states."""
    files = python_files("gateway", "channels", "models", "tests/contract", "tests/fixtures")
    files += (ROOT / "gateway").rglob("*.toml")
    files += [ROOT / "config.toml.example", ROOT / "pyproject.toml"]
    texts = [path.read_text("utf-8") for path in files]
    return frozenset(re.findall(r"\w+", "\n".join(texts)))


@cache
def commands() -> dict[tuple[str, ...], argparse.ArgumentParser]:
    found: dict[tuple[str, ...], argparse.ArgumentParser] = {}

    def walk(node: argparse.ArgumentParser, path: tuple[str, ...]) -> None:
        found[path] = node
        for action in node._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, child in action.choices.items():
                    walk(child, (*path, name))

    walk(parser(), ())
    return found


def options_of(command: argparse.ArgumentParser) -> set[str]:
    return {name for action in command._actions for name in action.option_strings}


def shutten_lines(path: Path) -> Iterator[tuple[str, bool]]:
    """(what follows `shutten`, whether it is a whole command)."""
    for line in fenced(path):
        if match := re.match(r"(?:\$ )?(?:\.venv/bin/)?shutten (.+)", line):
            yield match[1], True
    for span in spans(path):
        if match := re.match(r"shutten (.+)", span):
            yield match[1], False


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


papers = pytest.mark.parametrize("path", PAPERS, ids=name)


@papers
def test_paths_exist(path: Path) -> None:
    for found in A_PATH.findall(path.read_text("utf-8")):
        if OF_A_HOME.fullmatch(found):
            continue
        is_there = (ROOT / found).exists() or any(ROOT.glob(found + "*"))
        assert is_there, found


@papers
def test_symbols_exist(path: Path) -> None:
    for span in spans(path):
        match = A_SYMBOL.fullmatch(span)
        if match is None or match[1] in FOREIGN_WORDS | TOOLS or ("." in span and match[2] == "md"):
            continue
        assert match[1] in classes(), span
        assert match[2] is None or match[2] in classes()[match[1]], span


@papers
def test_words_of_code_exist(path: Path) -> None:
    for span in spans(path):
        match = A_FUNCTION.fullmatch(span)
        if match is not None:
            assert (match[1] or match[2]) in code_words(), span


@papers
def test_names_stand_in_the_files_named_with_them(path: Path) -> None:
    pattern = rf"`(?:([A-Z]\w+)\.)?(\w+)` (?:of|in) `({FOLDERS}/[\w./]+\.py)`"
    for owner, member, file in re.findall(pattern, prose(path)):
        tree = tree_of(ROOT / file)
        inside = {n.name: set(_members(n)) for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
        names = inside.get(owner, set()) if owner else set(_members(tree)) | inside.keys()
        assert member in names, f"{owner}.{member} in {file}"


@papers
def test_commands_and_their_options_exist(path: Path) -> None:
    for line, is_whole in shutten_lines(path):
        words = shlex.split(line)
        place: tuple[str, ...] = ()
        for word in (word for word in words if not word.startswith("-")):
            if (*place, word) in commands():
                place = (*place, word)
            else:
                break
        assert place or line == "…", line
        allowed = options_of(commands()[place]) | options_of(commands()[()])
        for option in (word.partition("=")[0] for word in words if word.startswith("-")):
            assert option in allowed, f"{line}: {option}"
        if is_whole:
            parser().parse_args(words)


@papers
def test_options_named_alone_exist(path: Path) -> None:
    ours = {option for command in commands().values() for option in options_of(command)}
    for span in spans(path):
        if AN_OPTION.match(span):
            assert set(AN_OPTION.findall(span)) <= ours, span


@papers
def test_make_targets_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for text in (*spans(path), *fenced(path)):
        if match := re.match(r"make ([a-z]+)\b", text):
            assert match[1] in targets, text


@papers
def test_settings_exist(path: Path) -> None:
    example: Any = tomllib.loads((ROOT / "config.toml.example").read_text("utf-8"))
    for span in spans(path):
        match = A_TABLE.fullmatch(span)
        if match is None:
            continue
        table = example
        for key in match[1].split("."):
            table = next(iter(table.values())) if key.startswith("<") else table[key]
        assert match[2] is None or match[2] in table, span


@papers
def test_only_our_own_hosts_and_no_paths_of_a_machine(path: Path) -> None:
    text = path.read_text("utf-8")
    assert set(ADDRESS.findall(text)) - HOSTS == set()
    assert MACHINE_PATH.findall(text) == []
    assert NOT_OUR_SUBJECT.findall(text) == []


@pytest.mark.parametrize(("paper", "most"), MOST_LINES.items())
def test_papers_stay_short(paper: str, most: int) -> None:
    assert (ROOT / paper).read_text("utf-8").count("\n") <= most


def test_every_record_stands_in_the_index() -> None:
    index = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    numbers = [record.name[:4] for record in records]
    assert numbers == [f"{number:04}" for number in range(1, len(records) + 1)]
    for record in records:
        title = record.read_text("utf-8").partition("\n")[0].partition(". ")[2]
        assert f"| `{name(record)}` | {title} |" in index
        for part in ("Status: ", "## Context", "## Decision", "## Consequences"):
            assert part in record.read_text("utf-8"), (record.name, part)


async def test_the_generated_pages_are_current(tmp_path: Path) -> None:
    made = await opened(tmp_path)
    assert set(made) == set(PAGES)
    for page, text in made.items():
        assert (ROOT / page).read_text("utf-8") == text, f"run docs/tools/make-api ({page})"


def test_every_operation_named_in_the_papers_exists() -> None:
    known = set(re.findall(r"^## `(.+)`$", (ROOT / PAGES[0]).read_text("utf-8"), re.MULTILINE))
    tables = {"knowledge.embedding"}
    sentences = {f"chat.{word}" for word in _sentences("chat")} | {
        f"scope.{word}" for word in _sentences("scope")
    }
    for path in PAPERS:
        for span in spans(path):
            is_file = span.endswith((".md", ".py", ".toml", ".db"))
            if AN_OPERATION.fullmatch(span) and not is_file:
                assert span in known | tables | sentences, f"{name(path)}: {span}"


def _sentences(topic: str) -> list[str]:
    text = (ROOT / "gateway" / "catalogue" / f"{topic}.toml").read_text("utf-8")
    return list(tomllib.loads(text))


def test_every_error_code_is_explained() -> None:
    page = (ROOT / PAGES[1]).read_text("utf-8")
    assert all(f"| `{code}` |" in page for code in TABLE)
