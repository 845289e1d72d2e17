"""One home for all tests of the surfaces, made once."""

from pathlib import Path

import pytest

from tests.surfaces.serving import make_home


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("template") / "home")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"
