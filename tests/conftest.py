"""How long properties and tables are tried: a sample by default, at length in `make prove`."""

import os
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

from tests.once import made_once

hypothesis.settings.register_profile("sample", max_examples=60, deadline=None)
hypothesis.settings.register_profile("prove", max_examples=2_000, deadline=None)
hypothesis.settings.load_profile("prove" if os.environ.get("SHUTTEN_PROVE") else "sample")

SAMPLED = {"tests/proof/": 4, "tests/faults/": 3}  # one case in so many of each long table


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave most cases of the long tables to `make prove`; whoever names a file gets all of it."""
    is_whole_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if os.environ.get("SHUTTEN_PROVE") or not is_whole_suite:
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        every = next((n for folder, n in SAMPLED.items() if item.nodeid.startswith(folder)), 1)
        name = item.nodeid.partition("[")[0]
        at = seen[name]  # shifted by one each row, else a column of that width is always the same
        (left if (at + at // every) % every else kept).append(item)
        seen[name] += 1
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo company's home with its documents read; to be copied, never changed."""
    from tests.surfaces.serving import make_home  # noqa: PLC0415 - the whole program

    return (
        made_once(tmp_path_factory, "company", lambda folder: make_home(folder / "home")) / "home"
    )
