"""Mutation tests: break one thing at a time in the rules that matter and see a test fail.

`python tests/mutation.py [NAME ...]` from the repository's root; NAME is part of a target's path.
Prints every mutant that survived, a line a target, and exits 1 where fewer than LEAST_KILLED of
the mutants were killed. Same mutants, same examples, same result in every run.
"""

import ast
import contextlib
import copy
import gc
import importlib
import importlib.util
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import _hypothesis_pytestplugin  # type: ignore[import-untyped]
import hypothesis.strategies
import pytest
import regex

LOADED_ONCE = (_hypothesis_pytestplugin, hypothesis.strategies, regex)  # not once a mutant
LEAST_KILLED = 0.90
SLOWEST = 20  # seconds; a mutant that takes longer hangs, and that is noticed
TARGETS = {
    "gateway/core/citations.py": ("tests/core/test_citations.py",),
    "gateway/core/marks.py": ("tests/core/test_citations.py",),
    "gateway/core/markdown.py": ("tests/core/test_markdown.py", "tests/core/test_citations.py"),
    "gateway/core/splitting.py": ("tests/core/test_splitting.py",),
    "gateway/core/scope*.py": ("tests/core/test_scope*.py",),
}
TIMED = "not take_no_time and not time_is_linear and not thirty_thousand"  # they measure, not judge
EXAMPLES = 25
OPTIONS = (  # no settings file and one plugin: a mutant costs little more than its tests
    *("-x", "-q", "-c", os.devnull, "--rootdir=.", "--import-mode=importlib", "--assert=plain"),
    *("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
    *("--hypothesis-profile=mutation", "-k", TIMED),
)

Change = Callable[[ast.AST], None]


@dataclass(frozen=True)
class Mutant:
    """One change to one node of a module's tree."""

    node: int  # position in `ast.walk`
    line: int
    what: str
    change: Change


COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


def mutants(tree: ast.Module) -> list[Mutant]:
    """Every mutant of a module, in the order of its nodes."""
    skipped = _not_code(tree)
    return [
        Mutant(index, getattr(node, "lineno", 0), what, change)
        for index, node in enumerate(ast.walk(tree))
        if id(node) not in skipped
        for what, change in _changes(node)
    ]


def _not_code(tree: ast.Module) -> set[int]:
    """Annotations, docstrings, decorators and `__all__`: nothing is decided there."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        roots += getattr(node, "decorator_list", [])
        roots += filter(None, (getattr(node, name, None) for name in ("annotation", "returns")))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            roots.append(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            roots += [body[0]] if isinstance(body[0].value, ast.Constant) else []
    return {id(node) for root in roots for node in ast.walk(root)}


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            yield _set_item("ops", at, COMPARISONS[type(op)]())
    elif isinstance(node, ast.BoolOp):
        yield _set("op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        yield _set("op", ARITHMETIC[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from (_set("value", other) for other in _others(node.value))
    else:
        yield from _dropped(node)


def _dropped(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Conditions the wrong way round, results and effects left out."""
    match node:
        case ast.UnaryOp(op=ast.Not()):
            yield "not removed", _negate("operand")
        case ast.If() | ast.While() | ast.IfExp():
            yield "condition negated", _negate("test")
        case ast.comprehension(ifs=[_, *_]):
            yield "filter negated", _negate_filter
        case ast.Return(value=ast.expr()) | ast.Expr(value=ast.Call()):
            yield _set("value", ast.Constant(None))
        case _:
            return


def _others(value: object) -> list[object]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    return [f"XX{value}XX"] if isinstance(value, str) else []


def _set(field: str, value: object) -> tuple[str, Change]:
    shown = value if isinstance(value, int | str) else type(value).__name__
    return f"{field} becomes {shown!r}", lambda node: setattr(node, field, value)


def _set_item(field: str, at: int, value: ast.AST) -> tuple[str, Change]:
    def change(node: ast.AST) -> None:
        getattr(node, field)[at] = value

    return f"{field} becomes {type(value).__name__}", change


def _negate(field: str) -> Change:
    return lambda node: setattr(node, field, ast.UnaryOp(ast.Not(), getattr(node, field)))


def _negate_filter(node: ast.AST) -> None:
    if isinstance(node, ast.comprehension):
        node.ifs[0] = ast.UnaryOp(ast.Not(), node.ifs[0])


# ---------------------------------------------------------------- running


@dataclass(frozen=True)
class Target:
    """A module to break and the test files that have to notice."""

    path: Path
    tests: tuple[str, ...]

    @property
    def module(self) -> str:
        return ".".join(self.path.with_suffix("").parts)


def targets(names: list[str]) -> list[Target]:
    return [
        Target(path, tuple(str(file) for test in tests for file in sorted(Path().glob(test))))
        for pattern, tests in TARGETS.items()
        for path in sorted(Path().glob(pattern))
        if not names or any(name in str(path) for name in names)
    ]


def is_killed(target: Target, tree: ast.Module) -> bool:
    """Whether the tests fail with this tree as the module; each try has a process of its own."""
    child = os.fork()
    if child == 0:
        signal.alarm(SLOWEST)
        os._exit(_try(target, tree))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) != 0


def _try(target: Target, tree: ast.Module) -> int:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        _install(target, tree)
        return int(pytest.main([*OPTIONS, *target.tests]))
    except BaseException:  # noqa: BLE001  a module that cannot be imported is noticed as well
        return 1


def _install(target: Target, tree: ast.Module) -> None:
    spec = importlib.util.spec_from_file_location(target.module, target.path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    package, _, name = target.module.rpartition(".")
    parent: ModuleType = importlib.import_module(package)
    sys.modules[target.module] = module
    setattr(parent, name, module)
    exec(compile(tree, target.path, "exec"), module.__dict__)


def survivors(target: Target) -> tuple[int, list[Mutant]]:
    """How many mutants there were, and those nobody noticed."""
    tree = ast.parse(target.path.read_text("utf-8"))
    if is_killed(target, tree):
        raise SystemExit(f"{target.path}: its tests fail without any mutation")
    found = mutants(tree)
    alive = []
    for mutant in found:
        mutated = copy.deepcopy(tree)
        mutant.change(list(ast.walk(mutated))[mutant.node])
        if not is_killed(target, ast.fix_missing_locations(mutated)):
            alive.append(mutant)
            say(f"survived  {target.path}:{mutant.line}  {mutant.what}")
    return len(found), alive


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    if sys.flags.hash_randomization:  # sets have to come in the same order in every run
        os.execve(sys.executable, sys.orig_argv, {**os.environ, "PYTHONHASHSEED": "0"})
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.path.insert(0, str(Path().resolve()))
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, deadline=None, max_examples=EXAMPLES
    )
    gc.freeze()  # what is loaded by now is not collected again in every child
    began = time.monotonic()
    total = alive = 0
    for target in targets(names):
        count, left = survivors(target)
        total, alive = total + count, alive + len(left)
        say(f"{target.path}: {count - len(left)} of {count} killed")
    share = (total - alive) / total if total else 0.0
    say(f"{total - alive} of {total} killed ({share:.1%}) in {time.monotonic() - began:.0f} s")
    return 0 if share >= LEAST_KILLED else 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
