"""Several results beside each other: each is compared with the first.

    side_by_side(["h100.json", "gb200.json", "b300.json"]).to_report("clusters.html")

Trade-off: N results cost N-1 comparisons; the others are not compared with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import path as paths
from typing import Any

from yantra.base.documents import Path
from yantra.base.errors import ConfigError
from yantra.base.notebook import progress_line
from yantra.base.output import write_text
from yantra.explain.comparison import called, compared, form_of
from yantra.export.stored import Form
from yantra.result import Result
from yantra.scenario import Case


class SideBySide:
    """What differs between results; `data` as JSON, `text()` in words, `to_report` as a page.

    `data["comparisons"]` compare each result with the first, as `Comparison.data`.
    """

    def __init__(self, data: dict[str, Any], forms: Sequence[Form]) -> None:
        self.data = data
        """All that was found, as plain values."""
        self._forms = forms

    def text(self) -> str:
        """Words and tables without a final newline."""
        from yantra.explain.side_by_side_words import words

        return words(self.data["comparisons"])

    def to_report(self, path: Path) -> None:
        """Write one offline HTML file."""
        from yantra.explain.compare_page import page

        write_text(path, page(self.data["comparisons"], self._forms))


@progress_line("results")
def side_by_side(
    runs: Sequence[Path | Case | Result], names: Sequence[str] | None = None
) -> SideBySide:
    """Results beside each other: each a `Result`, its file, or a file to run.

    `names` are for texts, else the files'. Raises ConfigError for fewer than two, and for what
    `compare` refuses.
    """
    if len(runs) < 2:
        raise ConfigError("runs", f"expected two results or more, got {len(runs)}")
    if names is not None and len(names) != len(runs):
        raise ConfigError("names", f"expected a name for each of {len(runs)}, got {len(names)}")
    shown = _short([called(run, f"run {at}") for at, run in enumerate(runs, 1)])
    first, *others = names or shown
    forms = [form_of(run) for run in runs]
    pairs = [
        compared(forms[0], form, (first, other), most=None).data
        for form, other in zip(forms[1:], others, strict=True)
    ]
    return SideBySide({"format": "yantra-side-by-side", "version": 1, "comparisons": pairs}, forms)


def _short(names: Sequence[str]) -> list[str]:
    files = [paths.basename(name) for name in names]
    for short in ([paths.splitext(file)[0] for file in files], files):
        if len(set(short)) == len(names):
            return short
    return list(names)
