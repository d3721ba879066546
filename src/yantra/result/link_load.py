"""What each link of a recorded run carried, and whose bytes they were: `link_rates` has a row for
each stretch of one rate, `link_flows` for each message.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.result.columns import Coded, Reals, Ticks
from yantra.result.network import link_rates as full_rates
from yantra.result.table import Column, Table

if TYPE_CHECKING:
    from yantra import _core
    from yantra.compile import Model
    from yantra.fabric.graphs.graph import Graph

_MOST_ROWS = 10_000_000


class LinkName(NamedTuple):
    """A link's label or dimension, and its ends."""

    label: str
    source: str
    destination: str

    @property
    def text(self) -> str:
        return f"{self.source} to {self.destination} ({self.label})"


def link_name(graph: Graph | None, link: int) -> LinkName:
    assert graph is not None  # numbers of links come from a graph
    links = graph.links
    ends = (graph.name_of(int(column[link])) for column in (links.start, links.end))
    return LinkName(graph.labels[int(links.label[link])], *ends)


def link_names(model: Model, links: list[_core.LinkRecord]) -> list[LinkName]:
    graph = model.graph
    if graph is not None:
        return [
            LinkName(
                graph.labels[link.dimension],
                _device(graph, link.source),
                _device(graph, link.destination),
            )
            for link in links
        ]
    ranks = model.ranks
    return [numbered_name(link.dimension, link.source, link.destination, ranks) for link in links]


def numbered_name(
    dimension: int, source: int | None, destination: int | None, ranks: int
) -> LinkName:
    return LinkName(f"dimension {dimension}", _end(source, ranks), _end(destination, ranks))


def _device(graph: Any, device: int | None) -> str:
    assert device is not None  # all ends in a fabric are devices
    name: str = graph.name_of(device)
    return name


def _end(end: int | None, ranks: int) -> str:
    if end is None:
        return "switch"
    return f"rank {end}" if end < ranks else f"switch {end - ranks}"


def rate_table(model: Model, outcome: _core.Outcome, recording: _core.Recording) -> Table:
    """One row per link and stretch of one rate, by link, then time.

    `link` is the row of `Result.links`; idle stretches have no row. `utilisation` is the rate over
    the link's, 0 if unlimited.
    """
    links = outcome.links if model.follows_links else []
    rates = recording.link_rates(model.native, outcome)
    names = link_names(model, links)
    capacity = full_rates(model, links)

    def utilisation() -> list[float]:
        each = zip(rates.row, rates.bytes_per_ns, strict=True)
        return [rate / capacity[row] for row, rate in each]

    columns: dict[str, Column] = {
        "link": ("whole", lambda: rates.row),
        **_named(rates.row, names),
        "from_ns": ("real", lambda: _reals(rates.from_ns)),
        "to_ns": ("real", lambda: _reals(rates.to_ns)),
        "bytes_per_ns": ("real", lambda: _reals(rates.bytes_per_ns)),
        "utilisation": ("real", utilisation),
    }
    return Table("link_rates", len(rates.row), columns)


def flow_table(
    model: Model,
    outcome: _core.Outcome,
    recording: _core.Recording,
    rows: Sequence[int] | None = None,
) -> Table:
    """One row per link and message that crossed it, of some rows of `Result.links`, or of all.

    `sender` and `receiver` are ranks, `node` is the sending one's id; the bytes held the link from
    `start_ns` to `end_ns`. Raises UnsupportedError for some rows of a folded run, and for more than
    ten million.
    """
    if outcome.folded and rows is not None:
        raise UnsupportedError(
            "the run was folded, so it does not say which messages crossed a link; run all ranks "
            "(yantra run --fold off)"
        )
    links = outcome.links if model.follows_links else []
    wanted = list(range(len(links)) if rows is None else rows)
    crossed = sum(links[row].use.messages for row in wanted)
    if crossed > _MOST_ROWS:
        raise UnsupportedError(
            f"{crossed:,} messages or packets crossed {len(wanted)} links, more than the ten "
            "million rows that link_flows may have"
        )
    found = recording.link_crossings(model.native, outcome, wanted)
    names = link_names(model, links)

    def times(ticks: memoryview[int]) -> Column:
        return "real", lambda: Ticks(ticks, model.ticks_per_ns)

    columns: dict[str, Column] = {
        "link": ("whole", lambda: found.row),
        **_named(found.row, names),
        "sender": ("whole", lambda: found.sender),
        "receiver": ("whole", lambda: found.receiver),
        "node": ("id", lambda: found.node),
        "bytes": ("whole", lambda: found.bytes),
        "start_ns": times(found.start),
        "end_ns": times(found.end),
    }
    return Table("link_flows", len(found.row), columns)


def _named(rows: memoryview[int], names: list[LinkName]) -> dict[str, Column]:
    def column(part: int) -> Column:
        return "text", lambda: Coded(array("Q", rows), [name[part] for name in names])

    return {name: column(part) for part, name in enumerate(LinkName._fields)}


def _reals(values: memoryview[Any]) -> Reals:
    return Reals(values.cast("B").cast("Q"))
