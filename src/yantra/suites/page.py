"""The page of a ranking: who is fastest, how sure, on which trace, and who stands for what."""

from __future__ import annotations

from yantra.base.output import Path, write_text
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.export.report.markup import Cell, Head, Html, element, facts, table
from yantra.export.report.shell import Page, Section, render
from yantra.suites.choose import Suite
from yantra.suites.run import Ranked, Ranking

_RANKING = (
    "Weighted geometric means of the traces' times; ratios are to the first. Agreement is the "
    "weight of traces on which a cluster is faster than the next; by intervals, of those whose "
    "intervals are apart."
)
_TRACES = "Each trace's time on a cluster over that on the first."
_COVERAGE = "A weight is the share of traces that one stands for, the nearest in its features."


def write_page(suite: Suite, ranking: Ranking, path: Path) -> None:
    write_text(path, page(suite, ranking))


def page(suite: Suite, ranking: Ranking) -> str:
    """Return the page as HTML."""
    first = ranking.clusters[0]
    head = element(
        "section",
        element("p", element("span", first.cluster, class_="makespan"),
                element("span", " is the fastest", class_="unit")),
        facts([("traces", f"{len(ranking.weights)} for {suite.of}"),
               ("clusters", str(len(ranking.clusters))),
               ("coverage", f"{suite.coverage:.0%}")]),
        id="top", aria_label="The answer",
    )  # fmt: skip
    sections = [
        Section("ranking", "Ranking", _RANKING, _ranking(ranking)),
        Section("traces", "Traces", _TRACES, _traces(ranking)),
        Section("coverage", "What they stand for", _COVERAGE, _coverage(suite)),
    ]
    if ranking.refused:
        rows = list(ranking.refused.items())
        body = table("left out", [Head("trace", False), Head("why", False)], rows)
        sections.append(Section("refused", "Left out", "", body))
    title = f"{count(len(ranking.clusters), 'cluster')} by {count(len(suite.chosen), 'trace')}"
    return render(Page(title, head, sections, ("plain.js",), ("report.css",)))


def sure_text(one: Ranked) -> str:
    """How sure a place before the next is."""
    if one.agree is None:
        return "-"
    apart = "" if one.sure is None else f", {one.sure:.0%} by intervals"
    return f"{one.agree:.0%} agree{apart}"


def _ranking(ranking: Ranking) -> Html:
    heads = [Head("cluster", False), Head("mean time"), Head("ratio"),
             Head("before the next", False), Head("beyond memory")]  # fmt: skip
    rows = [
        (one.cluster, Cell(format_time(one.ns), one.ns),
         Cell(f"{one.ratio:.2f}", one.ratio), sure_text(one),
         str(len(one.too_large)))
        for one in ranking.clusters
    ]  # fmt: skip
    return table("ranking", heads, rows, shown=50)


def _traces(ranking: Ranking) -> Html:
    first = ranking.clusters[0]
    heads = [Head("trace", False), Head("weight"), *(Head(one.cluster) for one in ranking.clusters)]
    rows = [
        (name, f"{weight:.1%}",
         *(Cell(f"{ratio:.2f}", ratio) for one in ranking.clusters
           for ratio in [one.times[name].ns / first.times[name].ns]))
        for name, weight in ranking.weights.items()
    ]  # fmt: skip
    return table("traces", heads, rows, shown=50)


def _coverage(suite: Suite) -> Html:
    heads = [Head("trace", False), Head("weight"), Head("stands for"), Head("farthest")]
    rows = [
        (one.name, f"{one.weight:.1%}", str(len(one.covers)), f"{one.farthest:.2f}")
        for one in suite.chosen
    ]
    return table("coverage", heads, rows, shown=50)
