"""The load of each link of a fabric, from a table of rates over time.

    link,label,source,destination,from_ns,to_ns,bytes_per_ns,utilisation

`yantra run --csv FILE --table link_rates` and `yantra network flows --links FILE` write it. The
load of a link is what it carried until the last row ends, over what it could have. Links between
the same two devices, which names do not tell apart, have what they carried together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.link_changes import table_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NEEDED = ("source", "destination", "from_ns", "to_ns", "bytes_per_ns")
_OTHERS = ("link", "label", "utilisation")


def read(path: str, graph: Graph) -> NDArray[np.float64]:
    """Return the load of each link, 0 where the table has none.

    Raises ConfigError with the line for a device or a link that the graph does not have.
    """
    header, rows = table_of(path, (*_NEEDED, *_OTHERS), optional=_OTHERS)
    devices = {graph.name_of(at): at for at in range(graph.devices)}
    pairs = graph.links.start.astype(np.int64) * graph.devices + graph.links.end
    known = set(pairs.tolist())
    carried: dict[int, float] = {}
    end_ns = 0.0
    for line, row in rows:
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        where = f"{path}, line {line}"
        source, destination = (
            _device(cells[end], devices, f"{where}, {end}") for end in _NEEDED[:2]
        )
        pair = source * graph.devices + destination
        if pair not in known:
            problem = f"no link leads from {cells['source']} to {cells['destination']}"
            raise ConfigError(where, f"{problem}; is it the table of another fabric?")
        start, stop, rate = (_number(cells[name], f"{where}, {name}") for name in _NEEDED[2:])
        carried[pair] = carried.get(pair, 0.0) + rate * (stop - start)
        end_ns = max(end_ns, stop)
    capacity = dict(zip(*_sums(pairs, graph.links.bytes_per_ns), strict=True))
    load = {pair: size / (capacity[pair] * end_ns) for pair, size in carried.items() if end_ns}
    return np.array([load.get(pair, 0.0) for pair in pairs.tolist()])


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
    return value


def _sums(pairs: NDArray[np.int64], rates: NDArray[np.float64]) -> tuple[list[int], list[float]]:
    distinct, place = np.unique(pairs, return_inverse=True)
    return distinct.tolist(), np.bincount(place, rates).tolist()
