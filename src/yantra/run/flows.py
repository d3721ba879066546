"""A list of flows over a fabric, simulated alone: when each is through, and how much slower it is
than alone.

A flow waits for the latency of its route and then shares all its links max-min fairly with the
others (`native/network/flow`). Alone it takes latency + bytes / narrowest link; its slowdown is
what it takes over that, as in studies of congestion control (Alizadeh et al., "pFabric", SIGCOMM
2013, section 5). Links may change their rate, or fail, at stated times; flows keep their routes and
wait.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean, expected_got, show
from yantra.base.fields import Quantity
from yantra.compile.fabric import native
from yantra.fabric.graphs.graph import Graph
from yantra.network.traffic.generator import Flows
from yantra.result.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = ("src", "dst", "bytes", "start_ns")
PERCENTILES = (50, 95, 99)
_OF_CHANGES = ("at_ns", "from", "to", "bandwidth")
_RATE = Quantity("bandwidth", "GB/s", at_least=0)
_LARGEST = 2**53  # whole numbers that a double keeps


class Choice(NamedTuple):
    """How flows are routed and share: a routing, its seed, and whether by 1 / round trip."""

    routing: str = "ecmp"
    seed: int = 0
    rtt_fairness: bool = False


class FlowResult(NamedTuple):
    """When each flow is through, and what it would take alone, in ns; `solves` of shares."""

    flows: Flows
    end_ns: NDArray[np.float64]
    alone_ns: NDArray[np.float64]
    solves: int

    @property
    def fct_ns(self) -> NDArray[np.float64]:
        """Flow completion times."""
        return self.end_ns - self.flows.start_ns

    @property
    def slowdown(self) -> NDArray[np.float64]:
        """Completion time over that alone; 1 where both are 0."""
        alone = np.where(self.alone_ns > 0, self.alone_ns, 1.0)
        return np.where(self.alone_ns > 0, self.fct_ns / alone, 1.0)

    def table(self) -> Table:
        """Return a row for each flow, in the order of the list."""

        def column(values: Any) -> Any:
            return lambda: values.tolist()

        columns: dict[str, Any] = {
            name: ("whole", column(getattr(self.flows, name))) for name in COLUMNS
        }
        for name in ("end_ns", "fct_ns", "alone_ns", "slowdown"):
            columns[name] = ("real", column(getattr(self, name)))
        return Table("flows", len(self.end_ns), columns)

    def by_size(self) -> Iterator[tuple[int | None, int, tuple[float, ...]]]:
        """Yield the power of ten below a size, its flows and the percentiles of their slowdown.

        A last row with None is all flows.
        """
        sizes = np.maximum(self.flows.bytes, 1)
        decade = np.floor(np.log10(sizes)).astype(int)
        for power in np.unique(decade).tolist():
            chosen = self.slowdown[decade == power]
            yield power, len(chosen), tuple(np.percentile(chosen, PERCENTILES).tolist())
        if len(decade):
            yield None, len(decade), tuple(np.percentile(self.slowdown, PERCENTILES).tolist())


def simulate(
    graph: Graph, flows: Flows, choice: Choice, changes: list[_core.RateChange] | None = None
) -> FlowResult:
    """Simulate flows between the ranks of a graph.

    Raises ConfigError for a flow of a rank that is not there, or to itself, and for a routing that
    the graph does not allow; UnsupportedError where there is no way, or a flow never ends.
    """
    _check(flows, graph)
    of = native(graph)
    try:
        router = _core.Router(of, choice.routing, seed=choice.seed)
    except ValueError as error:
        raise ConfigError("--routing", str(error)) from None
    sources, destinations = flows.src.astype(np.int32), flows.dst.astype(np.int32)
    try:
        paths = router.paths(sources, destinations, np.arange(len(sources), dtype=np.int64))
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None
    first, hops = np.asarray(paths.first), np.asarray(paths.links)
    rates, latency = graph.links.bytes_per_ns, graph.links.latency_ns
    times = _core.simulate_flows(
        first_hop=first,
        hops=hops,
        bytes=flows.bytes.astype(np.float64),
        start_ns=flows.start_ns.astype(np.float64),
        bytes_per_ns=np.ascontiguousarray(rates, np.float64),
        latency_ns=np.ascontiguousarray(latency, np.float64),
        rtt_fairness=choice.rtt_fairness,
        changes=changes or [],
    )
    end_ns = np.array(times.end_ns)
    if not np.isfinite(end_ns).all():
        stuck = int(np.argmax(~np.isfinite(end_ns)))
        raise UnsupportedError(
            f"flow {stuck}, from {flows.src[stuck]} to {flows.dst[stuck]}, never ends: a link of "
            "its route is down and does not return"
        )
    alone = np.zeros(len(end_ns))
    if len(end_ns):
        starts = first[:-1].astype(np.int64)
        alone = np.add.reduceat(latency[hops], starts)
        alone += flows.bytes / np.minimum.reduceat(rates[hops], starts)
    return FlowResult(flows, end_ns, alone, times.solves)


def _check(flows: Flows, graph: Graph) -> None:
    wrong = (flows.src >= graph.ranks) | (flows.dst >= graph.ranks) | (flows.src == flows.dst)
    if wrong.any():
        at = int(np.argmax(wrong))
        problem = (
            "sends to itself"
            if flows.src[at] == flows.dst[at]
            else f"is of a rank that the fabric does not have; its ranks are 0 to {graph.ranks - 1}"
        )
        raise ConfigError(f"flow {at}", f"{flows.src[at]} to {flows.dst[at]} {problem}")


def read(path: str) -> Flows:
    """Read a list of flows, CSV with the columns src, dst, bytes, start_ns in any order.

    `start_ns` is 0 where there is no such column. Raises ConfigError with line and column.
    """
    header, rows = _table(path, COLUMNS, optional=("start_ns",))
    places = {name: header.index(name) for name in header}
    found: dict[str, list[int]] = {name: [] for name in COLUMNS}
    for line, row in rows:
        for name, at in places.items():
            text = row[at].strip()
            if not text.isascii() or not text.isdigit() or int(text) > _LARGEST:
                problem = expected_got("a whole number, 0 or more and at most 2^53", text)
                raise ConfigError(f"{path}, line {line}, {name}", problem)
            found[name].append(int(text))
    count = len(found["src"])
    found["start_ns"] = found["start_ns"] or [0] * count
    return Flows(*(np.array(found[name], dtype=np.int64) for name in COLUMNS))


def read_changes(path: str, graph: Graph) -> list[_core.RateChange]:
    """Read when links change their rate: CSV with at_ns, from, to and bandwidth, which may be 0.

    Devices are called as the graph calls them; all links from one to the other change. Raises
    ConfigError with line and column.
    """
    header, rows = _table(path, _OF_CHANGES)
    devices = {graph.name_of(at): at for at in range(graph.devices)}
    devices |= {str(rank): rank for rank in range(graph.ranks)}
    changes: list[tuple[float, int, float]] = []
    for line, row in rows:
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        where = f"{path}, line {line}"
        ends = []
        for end in ("from", "to"):
            if cells[end] not in devices:
                hint = did_you_mean(cells[end], devices)
                raise ConfigError(f"{where}, {end}", f"no device is called {cells[end]!r}{hint}")
            ends.append(devices[cells[end]])
        links = np.flatnonzero((graph.links.start == ends[0]) & (graph.links.end == ends[1]))
        if not len(links):
            raise ConfigError(where, f"no link leads from {cells['from']} to {cells['to']}")
        if not cells["at_ns"].isdigit():
            problem = expected_got("a whole number, 0 or more", cells["at_ns"])
            raise ConfigError(f"{where}, at_ns", problem)
        rate = _RATE.read(cells["bandwidth"], f"{where}, bandwidth", "")
        changes += [(float(cells["at_ns"]), int(link), rate) for link in links]
    changes.sort(key=lambda change: change[0])
    return [_core.RateChange(at_ns=at, link=link, bytes_per_ns=rate) for at, link, rate in changes]


def _table(
    path: str, known: tuple[str, ...], optional: tuple[str, ...] = ()
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the header of a CSV file, which is as expected, and its rows with their lines."""
    rows = csv.reader(StringIO(read_text(path)))
    header = [cell.strip() for cell in next(rows, [])]
    for cell in header:
        if cell not in known or header.count(cell) > 1:
            hint = did_you_mean(cell, known) or f"; expected {','.join(known)}"
            problem = "twice" if cell in known else f"unknown column {show(cell)}{hint}"
            raise ConfigError(f"{path}, line 1", problem)
    for name in known:
        if name not in header and name not in optional:
            raise ConfigError(f"{path}, line 1", f"no column '{name}'; expected {','.join(known)}")

    def checked() -> Iterator[tuple[int, list[str]]]:
        for row in rows:
            if row and len(row) != len(header):
                problem = f"expected {len(header)} values, as the header has, got {len(row)}"
                raise ConfigError(f"{path}, line {rows.line_num}", problem)
            if row:
                yield rows.line_num, row

    return header, checked()
