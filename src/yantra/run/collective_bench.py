"""Collectives on fabrics, simulated by algorithm and size, beside the cut bound.

Trade-off: ranks in the fabric's order, as one dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from yantra.base.errors import CapacityError, UnsupportedError
from yantra.chakra import CollectiveType
from yantra.collectives import find
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.algorithms import algorithms
from yantra.collectives.bandwidth import bus_rate, comm_size
from yantra.collectives.schedule import Kind, Schedule
from yantra.fabric.graphs.cut_bounds import bounded_fabric, least_ns_per_byte
from yantra.fabric.graphs.describe import Shown
from yantra.fabric.graphs.synthesis import KINDS, Asked, synthesize
from yantra.run.over_shown import options_in_order, scenario_over
from yantra.run.simulate import simulate
from yantra.scenario import Scenario
from yantra.scenario.one_collective import of_all_ranks
from yantra.scenario.types import Templates

MADE = "synthesized"
_TYPES = {
    Kind.ALL_REDUCE: CollectiveType.ALL_REDUCE,
    Kind.ALL_GATHER: CollectiveType.ALL_GATHER,
    Kind.REDUCE_SCATTER: CollectiveType.REDUCE_SCATTER,
    Kind.ALL_TO_ALL: CollectiveType.ALL_TO_ALL,
}
BENCHED = tuple(_TYPES)
"""Collectives with a bound and algorithms."""

_AT_ONCE = 4  # chunks of a collective

Progress = Callable[[float, int], None]


class Row(NamedTuple):
    """An algorithm on a fabric at one size: time, bandwidths, part of the bound.

    `low_ns` and `high_ns` hold 90 % of what was measured.
    """

    fabric: str
    ranks: int
    size_bytes: int
    algorithm: str
    time_ns: float | None
    algorithm_bytes_per_ns: float | None
    bus_bytes_per_ns: float | None
    of_bound: float | None
    refused: str = ""
    low_ns: float | None = None
    high_ns: float | None = None


class Question(NamedTuple):
    """What to run; sizes are a rank's input, or an all-gather's output.

    `chunks`: pieces of a collective, up to four at a time.
    """

    kind: Kind
    sizes: tuple[int, ...]
    algorithms: tuple[str, ...]
    network: str = "flow"
    routing: str = "even_spray"
    chunks: int = 1
    program: tuple[tuple[str, Any], ...] = ()


def default_algorithms(kind: Kind) -> tuple[str, ...]:
    """Algorithms where switches add, for which the bound of ranks does not hold, run only
    if named.
    """
    made = {name: find(name) for name in algorithms.names()}
    names = (name for name, one in made.items() if kind in one.kinds and not one.in_network)
    return (*names, *((MADE,) if kind in KINDS else ()))


def bench(fabrics: list[Shown], asked: Question, progress: Progress | None = None) -> Iterator[Row]:
    """Yield rows by fabric, size and algorithm.

    Raises ConfigError and UnsupportedError where a fabric has no bound.
    """
    for shown in fabrics:
        _scenario_without(shown, asked)  # refuses a fabric unfit for the network
    total = len(fabrics) * len(asked.sizes) * len(asked.algorithms)
    done = 0
    for shown in fabrics:
        fabric = bounded_fabric(shown.graph, shown.name)
        least = {
            adds: least_ns_per_byte(asked.kind, fabric, switches_add=adds)
            for adds in {_switches_add(name) for name in asked.algorithms}
        }
        for size in asked.sizes:
            for name in asked.algorithms:
                bound_ns = float(least[_switches_add(name)] * size)
                yield _row(shown, asked, size, name, bound_ns)
                done += 1
                if progress is not None:
                    progress(done, total)


def _switches_add(name: str) -> bool:
    return name != MADE and find(name).in_network


def _row(shown: Shown, asked: Question, size: int, name: str, bound_ns: float) -> Row:
    n = shown.graph.ranks
    try:
        algorithm = _made(shown, asked.kind, size) if name == MADE else find(name)
        scenario = _scenario_without(shown, asked)
        sizes = [dimension.size for dimension in scenario.topology.dimensions]
        if name == MADE and len(sizes) > 1:
            problem = f"it is made for all ranks, and {asked.network} runs over dimensions"
            raise UnsupportedError(problem)
        why = next(filter(None, (algorithm.supports(asked.kind, of) for of in sizes)), None)
        if why is not None:
            raise UnsupportedError(why)
        time = simulate(_with_collective(scenario, asked, size, name, algorithm)).makespan_ns
    except (CapacityError, UnsupportedError) as error:
        return Row(shown.name, n, size, name, None, None, None, None, str(error))
    bus = bus_rate(str(asked.kind), n, size, time)
    return Row(shown.name, n, size, name, time, size / time, bus, bound_ns / time)


def _made(shown: Shown, kind: Kind, size: int) -> CollectiveAlgorithm:
    plan = synthesize(shown.graph, shown.name, Asked(kind, size)).found[0].plan
    made = plan.schedule()

    class _Made(CollectiveAlgorithm):
        kinds = frozenset({kind})

        def schedule(self, kind: Kind, n: int) -> Schedule:
            return made

    return _Made()


def _with_collective(
    scenario: Scenario, asked: Question, size: int, name: str, algorithm: CollectiveAlgorithm
) -> Scenario:
    # An all-gather's trace has a rank's initial share.
    n = scenario.topology.ranks
    workload = of_all_ranks(_TYPES[asked.kind], comm_size(str(asked.kind), size, n), n)
    dimensions = len(scenario.topology.dimensions)
    used = type(algorithm) if name == MADE else name
    at_once = min(asked.chunks, _AT_ONCE)
    collectives = scenario.collectives.replace(
        chunks=asked.chunks,
        active_chunks=at_once,
        queues_per_dimension=at_once,
        **{str(asked.kind): (used,) * dimensions},
    )
    return scenario.replace(workload=Templates(workload=workload), collectives=collectives)


def _scenario_without(shown: Shown, asked: Question) -> Scenario:
    collectives = {"endpoint_delay": "0 ns"}
    options = asked.program or tuple(options_in_order(asked.network).items())
    more = {"collectives": collectives}
    return scenario_over(shown, asked.network, asked.routing, more=more, options=options)
