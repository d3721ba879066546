"""A judgement as text, JSON and a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yantra.base.text import count
from yantra.export.report.markup import Head, element
from yantra.export.report.markup import table as html_table
from yantra.export.report.shell import Page, Section, render
from yantra.synth.judge import Judged

_FIDELITY = ("what", "drawn", "floor", "Markov", "KS")
_BEHAVIOUR = ("cluster", "makespan", "exposed", "Spearman")
_GUESSED = ("secret", "mean of aspects", "best method", "chance", "which is best")


def as_dict(judged: Judged) -> dict[str, Any]:
    """As JSON."""
    return judged._asdict() | {
        "fidelity": [one._asdict() for one in judged.fidelity],
        "behaviour": [one._asdict() for one in judged.behaviour],
        "privacy": judged.privacy._asdict(),
        "guessed": {name: one._asdict() for name, one in judged.guessed.items()},
    }


def text(judged: Judged) -> str:
    """In lines."""
    lines = [f"{count(judged.drawn, 'drawn job')} beside {count(judged.real, 'real job')}"]
    for title, heads, rows in _tables(judged):
        lines.append(title)
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append(f"  {'  '.join(cells)}".rstrip())
    return "\n".join([*lines, *_said(judged)]) + "\n"


def page(judged: Judged) -> str:
    """As one file of HTML."""
    lines = [element("p", line) for line in _said(judged)]
    said = element("section", *lines, id="top", aria_label="The judgement")
    sections = []
    for number, (title, heads, rows) in enumerate(_tables(judged)):
        columns = [Head(head, at > 0) for at, head in enumerate(heads)]
        body = html_table(title, columns, rows, shown=40)
        sections.append(Section(f"part{number}", title.partition(":")[0], "", body))
    title = f"{count(judged.drawn, 'drawn job')} beside {count(judged.real, 'real job')}"
    return render(Page(title, said, sections, ("plain.js",), ("report.css",)))


def _tables(judged: Judged) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    rows = [
        (str(one.what), *("-" if value is None else f"{value:.2f}" for value in one[1:]))
        for one in judged.fidelity
    ]
    yield "fidelity: distances, of real halves from each other (floor), of a chain", _FIDELITY, rows
    if judged.behaviour:
        rows = [
            (one.cluster, f"{one.makespan:.1%}", f"{one.exposed:.1%}", f"{one.spearman:.2f}")
            for one in judged.behaviour
        ]
        yield "behaviour: medians of errors at equal settings", _BEHAVIOUR, rows
    rows = [
        (name, f"{one.mean:.0%}", f"{one.best:.0%}", f"{one.chance:.0%}", one.best_method)
        for name, one in judged.guessed.items()
    ]
    if rows:
        yield "attack: settings guessed from the nearest real job", _GUESSED, rows


def _said(judged: Judged) -> list[str]:
    of = judged.privacy
    lines = [f"{count(judged.pairs, 'drawn job')} at settings of a real one"]
    if judged.pairs:
        lines[0] += (
            f": the order of three clusters kept in {judged.ordered:.0%}, bytes of a group off by "
            f"{judged.group_bytes:.1%} (median of the worst)"
        )
    far = "unknown" if of.ratio is None else f"{of.ratio:.2f}"
    lines.append(
        f"privacy: distance ratio {far}; motifs of 21 nodes copied {of.copied:.1%}, of "
        f"one family alone {of.copied_of_one:.1%}"
    )
    known = "needs --others" if of.membership is None else f"{of.membership:.2f} (chance 0.5)"
    return [*lines, f"membership told by nearness: area under the curve {known}"]
