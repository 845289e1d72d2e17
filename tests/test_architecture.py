"""The shape of the code, held by numbers; a limit changes only together with a decision record."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway import catalogue
from gateway.errors import TABLE

ROOT = Path(__file__).parents[1]
PACKAGES = ("gateway", "channels", "models")
SOURCES = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
MODULE_LINES = 300
LONG_MODULES = {  # for a reason, docs/adr/0011
    "gateway/errors.py",
}
GENERATED = re.compile(r"gateway/core/(variants|folding_tables)\.py|/migrations/versions/")
FUNCTION_LINES = 40
BROAD_EXCEPT = {  # the three boundaries
    "gateway/inbox.py",
    "gateway/surfaces/http.py",
    "gateway/extract/supervisor.py",
}
TOP_LEVEL = {
    ".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "bench", "channels", "config.toml.example", "docs", "gateway",
    "models", "pyproject.toml", "requirements-dev.lock", "requirements.lock", "tests",
}  # fmt: skip


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_modules_and_functions_stay_readable(path: Path) -> None:
    text = path.read_text("utf-8")
    if GENERATED.search(name(path)):
        return
    if name(path) not in LONG_MODULES:
        assert text.count("\n") <= MODULE_LINES
    for function in functions(ast.parse(text)):
        assert function.end_lineno is not None
        lines = function.end_lineno - function.lineno + 1
        assert lines <= FUNCTION_LINES, f"{function.name}: {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_type_checking_blocks_and_a_docstring_in_each_module(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "TYPE_CHECKING" not in text
    assert ast.get_docstring(ast.parse(text))


def test_broad_excepts_stand_only_at_the_three_boundaries() -> None:
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (
                    isinstance(node.type, ast.Name)
                    and node.type.id.replace("Base", "") == "Exception"
                )
            ):
                found.add(name(path))
    assert found <= BROAD_EXCEPT


def test_only_the_scope_rule_builds_scopes() -> None:
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Scope"
            ):
                found.add(name(path))
    assert found == {"gateway/core/scope.py"}


def test_nothing_new_at_the_top_level() -> None:
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split("\n")}
    found = {entry.name for entry in ROOT.iterdir() if entry.name != ".git"}
    assert (
        found - TOP_LEVEL - ignored - {"__pycache__"} - {n for n in found if n.endswith(".log")}
        == set()
    )


def test_every_sentence_speaks_all_three_languages() -> None:
    for key, texts in catalogue.STRINGS.items():
        assert set(texts) == set(catalogue.LANGUAGES), key
        assert all(text.strip() for text in texts.values()), key
        holes = {frozenset(re.findall(r"{(\w+)}", text)) for text in texts.values()}
        assert len(holes) == 1, f"{key}: the languages have different placeholders"


def test_every_error_code_has_its_sentence() -> None:
    assert {f"errors.{code}" for code in TABLE} == {
        key for key in catalogue.STRINGS if key.startswith("errors.")
    }
    for code in TABLE:
        for language in catalogue.LANGUAGES:
            assert catalogue.error_text(code, language)
