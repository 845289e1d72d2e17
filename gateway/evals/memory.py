"""The greatest memory that this process and its children have held."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_KB_A_MB = 1024


class PeakMemory:
    """Sums what the kernel recorded as each process's peak; 0 where /proc is not to be had."""

    def __init__(self, root: Path = _PROC) -> None:
        self._root = root
        self.peak_mb = 0.0

    def sample(self) -> None:
        """Look once; the largest of all looks counts."""
        status = _status(self._root / "self")
        if status:
            total = sum(_peak_kb(one) for one in self._tree(status["Pid"]))
            self.peak_mb = max(self.peak_mb, total / _KB_A_MB)

    def _tree(self, root_pid: str) -> Iterator[dict[str, str]]:
        children: dict[str, list[dict[str, str]]] = defaultdict(list)
        for folder in self._root.iterdir():
            if folder.name.isdigit():
                status = _status(folder)
                if status.get("Pid") == root_pid:
                    yield status
                elif status:
                    children[status["PPid"]].append(status)
        waiting = [root_pid]
        while waiting:
            for status in children[waiting.pop()]:
                waiting.append(status["Pid"])
                yield status


def _status(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / "status").read_text("utf-8", "replace").splitlines()
    except OSError:  # it has just ended
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _peak_kb(status: dict[str, str]) -> int:
    return int(status.get("VmHWM", "0 kB").split()[0])
