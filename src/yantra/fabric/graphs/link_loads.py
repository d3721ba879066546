"""Links' load, from a table of rates over time.

    link,label,source,destination,from_ns,to_ns,bytes_per_ns,utilisation

Links between the same devices share a load.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.printable import cell_text
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 2.0**63  # bound of times and rates, whose products stay finite
_NEEDED = ("source", "destination", "from_ns", "to_ns", "bytes_per_ns")
_OTHERS = ("link", "label", "utilisation")


class Loads(NamedTuple):
    """Each link's load over a time, 0 to 1, and in equal parts (`of_frames`, by part and link), up
    to `end_ns`.
    """

    whole: NDArray[np.float64]
    of_frames: NDArray[np.float64]
    end_ns: float


def read(path: str, graph: Graph, frames: int = 0) -> Loads:
    """Return each link's load, default 0, whole and in frames.

    Raises ConfigError with the line for an unknown device or link.
    """
    header, rows = table_of(path, (*_NEEDED, *_OTHERS), optional=_OTHERS)
    devices = {graph.name_of(at): at for at in range(graph.devices)}
    pairs = graph.links.start.astype(np.int64) * graph.devices + graph.links.end
    known = set(pairs.tolist())
    stretches: list[tuple[int, float, float, float]] = []
    for line, row in rows:
        cells = dict(zip(header, (cell_text(cell.strip()) for cell in row), strict=True))
        where = f"{path}, line {line}"
        source, destination = (
            _device(cells[end], devices, f"{where}, {end}") for end in _NEEDED[:2]
        )
        pair = source * graph.devices + destination
        if pair not in known:
            problem = f"no link leads from {cells['source']} to {cells['destination']}"
            raise ConfigError(where, f"{problem}; is it the table of another fabric?")
        start, stop, rate = (_number(cells[name], f"{where}, {name}") for name in _NEEDED[2:])
        stretches.append((pair, start, stop, rate))
    end_ns = max((stop for _, _, stop, _ in stretches), default=0.0)
    table = np.array(stretches).reshape(-1, 4)
    return loads(graph, table[:, 0].astype(np.int64), table[:, 1:], end_ns, frames)


def loads(
    graph: Graph,
    pairs: NDArray[np.int64],
    stretches: NDArray[np.float64],
    end_ns: float,
    frames: int,
) -> Loads:
    """A pair is the first device times their number, plus the second."""
    of_links = graph.links.start.astype(np.int64) * graph.devices + graph.links.end
    known, place = np.unique(of_links, return_inverse=True)
    capacity = np.bincount(place, graph.links.bytes_per_ns)
    row = np.searchsorted(known, pairs)
    start, stop, rate = stretches.T

    def share(begin: float, end: float) -> NDArray[np.float64]:
        inside = np.clip(np.minimum(stop, end) - np.maximum(start, begin), 0.0, None)
        carried = np.bincount(row, rate * inside, len(known))
        found: NDArray[np.float64] = carried / (capacity * max(end - begin, 1e-300))
        return found[place]

    edges = np.linspace(0.0, end_ns, frames + 1)
    of_frames = [share(begin, end) for begin, end in pairwise(edges.tolist())]
    return Loads(share(0.0, end_ns), np.array(of_frames).reshape(frames, len(of_links)), end_ns)


def _device(name: str, devices: dict[str, int], where: str) -> int:
    if name not in devices:
        problem = f"no device is called {name!r}{did_you_mean(name, devices)}"
        raise ConfigError(where, problem)
    return devices[name]


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ConfigError(where, expected_got("a number, 0 or more", text))
    if value > _MOST:
        raise ConfigError(where, expected_got(f"at most {_MOST:g}", text))
    return value
