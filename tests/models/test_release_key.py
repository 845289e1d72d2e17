"""A new release key: a pair that minisign takes, its secret half in one file and nowhere else."""

import io
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from models.bundle import RELEASE_KEY
from models.minisign import BadSignature, PublicKey, SecretKey

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "docs" / "tools" / "make-release-key"


def run(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, path], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_pair_signs_and_only_the_public_half_is_told(tmp_path: Path) -> None:
    path, before = tmp_path / "secret.key", RELEASE_KEY.read_bytes()
    made = run(path)
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    secret, public = SecretKey.parse(path.read_text()), PublicKey.parse(made.stdout)
    signature = secret.sign("a.tar", io.BytesIO(b"data"))
    public.verify("a.tar", io.BytesIO(b"data"), signature)
    with pytest.raises(BadSignature):
        public.verify("a.tar", io.BytesIO(b"date"), signature)
    for line in path.read_text().splitlines()[1:]:
        assert line not in made.stdout + made.stderr
    assert "models/data/release.pub" in made.stderr
    assert RELEASE_KEY.read_bytes() == before
    assert len(made.stdout.splitlines()) == len(before.decode().splitlines()) == 2


def test_a_file_that_exists_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_text("the only copy")
    made = run(path)
    assert (made.returncode, made.stdout) == (1, "")
    assert path.read_text() == "the only copy"
    link = tmp_path / "link.key"
    link.symlink_to(tmp_path / "elsewhere")
    assert run(link).returncode == 1
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("how", ["inside", "by a link", "another repository"])
def test_the_secret_half_lies_in_no_repository(tmp_path: Path, how: str) -> None:
    folder = ROOT / "docs"
    if how == "by a link":
        folder = tmp_path / "link"
        folder.symlink_to(ROOT / "docs")
    elif how == "another repository":
        (tmp_path / ".git").mkdir()
        folder = tmp_path / "deep"
        folder.mkdir()
    made = run(folder / "never.key")
    assert (made.returncode, made.stdout) == (1, "")
    assert "repository" in made.stderr
    assert not (folder / "never.key").exists()
