"""What an evaluation found: as the JSON report and as a table for people."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.catalogue import error_text, text
from gateway.core.metrics import KEEP, Figures, Outcome, Part, RefusalPoint

_COLUMNS = ("R@1", "R@5", "R@10", "MRR@10", "kept", "refused", "empty", "p50 ms", "p95 ms")


@dataclass(frozen=True, slots=True)
class Report:
    """All figures; `modes` in the order they were asked for, the last one is judged."""

    passages: int
    passages_per_minute: float | None  # of making vectors; None without a model
    vector_bytes: int
    peak_rss_mb: float
    k: int
    modes: Mapping[str, Figures]
    outcomes: Mapping[str, Sequence[Outcome]]  # by mode, in the order of the questions
    skipped: Sequence[tuple[str, str]] = ()  # documents that could not be read, with the code
    unknown_sources: Sequence[str] = ()  # gold names no document: a slip in the questions file
    min_recall: float | None = None

    @property
    def judged(self) -> str:
        """The last mode listed."""
        return list(self.modes)[-1]

    @property
    def is_met(self) -> bool:
        """Recall@k of the judged mode reaches `min_recall`, or nothing was asked."""
        if self.min_recall is None:
            return True
        reached = self.modes[self.judged].recall_at_k
        return reached is not None and reached >= self.min_recall

    def to_json(self) -> dict[str, Any]:
        """The form of `--report`; `rank` and `refused` of a question are the judged mode's."""
        report: dict[str, Any] = {
            "passages": self.passages,
            "passages_per_minute": _rounded(self.passages_per_minute, 1),
            "vector_bytes": self.vector_bytes,
            "peak_rss_mb": _rounded(self.peak_rss_mb, 1),
            "k": self.k,
            "min_recall": self.min_recall,
            "judged": self.judged,
            "is_met": self.is_met,
            "modes": {mode: _mode(figures) for mode, figures in self.modes.items()},
            "questions": list(self._questions()),
        }
        if self.skipped:
            report["skipped"] = [{"source": name, "code": code} for name, code in self.skipped]
        if self.unknown_sources:
            report["unknown_sources"] = list(self.unknown_sources)
        return report

    def _questions(self) -> Iterator[dict[str, Any]]:
        for row in zip(*self.outcomes.values(), strict=True):
            judged = row[-1]
            yield {
                "id": judged.question_id,
                "type": judged.type,
                "language": judged.language,
                "answerable": judged.is_answerable,
                "rank": judged.rank,
                "refused": judged.is_refused,
                "modes": {
                    mode: {
                        "rank": outcome.rank,
                        "refused": outcome.is_refused,
                        "probability": _rounded(outcome.probability),
                        "latency_ms": _rounded(outcome.latency_ms, 2),
                    }
                    for mode, outcome in zip(self.outcomes, row, strict=True)
                },
            }

    def write(self, path: Path) -> None:
        """Write the JSON report; raises OSError."""
        path.write_text(json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n", "utf-8")

    def lines(self, language: str | None = None) -> Iterator[str]:
        """The table for people."""
        rate = "–" if self.passages_per_minute is None else f"{self.passages_per_minute:.0f}"
        yield text(
            "eval.summary",
            language,
            passages=self.passages,
            rate=rate,
            vectors=f"{self.vector_bytes / 1e6:.1f}",
            memory=f"{self.peak_rss_mb:.0f}",
        )
        for name, code in self.skipped:
            yield text("eval.skipped", language, name=name, reason=error_text(code, language))
        for name in self.unknown_sources:
            yield text("eval.unknown_source", language, name=name)
        yield f"{'':24}{'n':>9} " + " ".join(f"{column:>7}" for column in _COLUMNS)
        for mode, figures in self.modes.items():
            yield _row(mode, figures.overall, figures.latency_p50_ms, figures.latency_p95_ms)
            for kind, part in figures.by_type.items():
                yield _row(f"  {kind}", part)
            for spoken, part in figures.by_language.items():
                yield _row(f"  [{spoken}]", part)
        yield from self._refusal(language)
        if not self.is_met:
            yield from self._below(language)

    def _refusal(self, language: str | None) -> Iterator[str]:
        figures = self.modes[self.judged]
        if figures.strictest is None or figures.strictest.refused_share is None:
            return
        points = (*figures.refusal_curve[1::2], figures.strictest)
        *curve, best = (
            f"{point.cut:.2f}: {_cell(point.kept_share).strip()}/"
            f"{_cell(point.refused_share).strip()}"
            for point in points
        )
        yield text("eval.curve", language, mode=self.judged, points=" · ".join(curve))
        yield text("eval.strictest", language, percent=round(KEEP * 100), point=best)

    def _below(self, language: str | None) -> Iterator[str]:
        figures = self.modes[self.judged]
        value = _cell(figures.recall_at_k).strip()
        wanted = f"{self.min_recall:g}"
        yield text("eval.below", language, mode=self.judged, k=self.k, value=value, wanted=wanted)
        reached, error = figures.recall_at_k, figures.recall_at_k_error
        if reached is not None and reached + error >= (self.min_recall or 0.0):
            yield text("eval.within_error", language, error=f"{error:.3f}")


def _mode(figures: Figures) -> dict[str, Any]:
    overall = _part(figures.overall)
    shares = {name: overall[name] for name in ("refused_share", "kept_share", "empty_share")}
    return {
        "overall": overall,
        "by_type": {kind: _part(part) for kind, part in figures.by_type.items()},
        "by_language": {name: _part(part) for name, part in figures.by_language.items()},
        **shares,
        "recall_at_k": _rounded(figures.recall_at_k),
        "recall_at_k_standard_error": _rounded(figures.recall_at_k_error),
        "latency_ms": {
            "p50": _rounded(figures.latency_p50_ms, 2),
            "p95": _rounded(figures.latency_p95_ms, 2),
        },
        "refusal_curve": [_point(point) for point in figures.refusal_curve],
        "refusal_at_95_kept": _point(figures.strictest),
    }


def _part(part: Part) -> dict[str, Any]:
    recall = part.recall
    return {
        "recall_at_1": _rounded(recall.recall_at_1),
        "recall_at_5": _rounded(recall.recall_at_5),
        "recall_at_10": _rounded(recall.recall_at_10),
        "mrr_at_10": _rounded(recall.mrr_at_10),
        "n": recall.n,
        "kept_share": _rounded(part.kept_share),
        "unanswerable": part.unanswerable,
        "refused_share": _rounded(part.refused_share),
        "empty_share": _rounded(part.empty_share),
    }


def _point(point: RefusalPoint | None) -> dict[str, float | None] | None:
    if point is None:
        return None
    return {
        "cut": _rounded(point.cut),
        "kept_share": _rounded(point.kept_share),
        "refused_share": _rounded(point.refused_share),
    }


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _row(name: str, part: Part, *latencies: float | None) -> str:
    recall = part.recall
    values = [recall.recall_at_1, recall.recall_at_5, recall.recall_at_10, recall.mrr_at_10]
    values += [part.kept_share, part.refused_share, part.empty_share]
    cells = [_cell(value) for value in values] + [_cell(value, 1) for value in latencies]
    count = f"{recall.n}+{part.unanswerable}"
    return f"{name:24}{count:>9} " + " ".join(cells)


def _cell(value: float | None, digits: int = 3) -> str:
    return f"{'–' if value is None else format(value, f'.{digits}f'):>7}"
