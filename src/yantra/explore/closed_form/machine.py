"""A machine as a search sees it: times of kernels, collectives and messages.

Kernels take the roofline's time at their type's rate, or the stack's measured one
(`kernel_times.py`). Measured collectives follow their points. Others are simulated once per group
and kind, alone on the cluster, at powers of the root of two and where the compiler changes its
plan; in between they are interpolated. A group is `size` ranks, `stride` apart.

Trade-off: nothing contends here.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.custom_all_reduce import ENGINES
from yantra.collectives.schedule import Kind
from yantra.collectives.selection import selection_of
from yantra.collectives.selection.of_model import by_engine, leaves_to_model, of_model
from yantra.collectives.selection.selection import Group as Ranks
from yantra.collectives.selection.selection import Timed
from yantra.compile import compile
from yantra.compile.capped import factors
from yantra.compile.slowdown import slowdown_on
from yantra.compute.roofline import Options, shares_of
from yantra.explore.closed_form.distinct import distinct
from yantra.explore.closed_form.kernel_times import KernelTimes
from yantra.explore.closed_form.on_stack import any_layout, parts_for
from yantra.explore.closed_form.scale import Scale
from yantra.fabric.stacks.choice import ROOFLINE, WITHOUT_TERMS
from yantra.fabric.topologies import topologies
from yantra.run.simulate import run
from yantra.scenario import Scenario, Stack, Templates
from yantra.scenario.power import WHERE, law_of
from yantra.workloads.models.experts import experts_a_token
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from yantra.compile import Model
    from yantra.explore.closed_form.amounts import Block
    from yantra.workloads.operators.operations import Operation
    from yantra.workloads.plan.plan import Dispatch, Dtype

_KINDS = {
    CollectiveType.ALL_REDUCE: Kind.ALL_REDUCE,
    CollectiveType.ALL_GATHER: Kind.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER: Kind.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL: Kind.ALL_TO_ALL,
}
_HALF_POWERS = range(2 * 12, 2 * 28 + 1)
_LONG = 1 << 26  # bytes from which latency no longer changes
_LARGEST = 1 << 36  # bytes of the largest collective of a plan
_FINE = 1 << 22
"""Collectives are measured on a network as many times slower: a slope needs digits behind ticks."""
_LONGEST_NS = 1e15  # a ninth of what the clock holds


class Line(NamedTuple):
    """From so many bytes on, a collective takes `start` ns and `slope` ns for each byte."""

    from_bytes: int
    start: float
    slope: float


class LineTable(NamedTuple):
    """Lines of groups (rows): column k starts at `begins[k - 1]` bytes."""

    begins: np.ndarray
    starts: np.ndarray
    slopes: np.ndarray


class Machine:
    def __init__(
        self,
        cluster: Any,
        ranks: int,
        scale: Scale | None = None,
        like: Machine | None = None,
        tuned: Machine | None = None,
        dtype: Dtype = "bf16",
        stack: str = ROOFLINE,
    ) -> None:
        """`scale` multiplies rates, `like` is a machine with other rates whose groups it takes,
        `dtype` a plan's type.

        `stack` is a choice of `yantra.fabric.stacks.choice`. Measurements scale by a law: a kernel
        as the larger of its roofline's times, its launch as latencies; a collective's least time as
        latencies, the rest as the links of its bounding dimension.

        Collectives run in the ways and chunks that suit `tuned`, the same with other rates, so that
        times are smooth in the rates; by default those that suit this machine.

        Raises ConfigError for a number of ranks or a type that the cluster lacks, and an unknown
        stack.
        """
        scale = scale or Scale()
        self._tuned, self._scale = tuned, scale
        self.ranks, self.dtype, self.stack = ranks, dtype, stack
        self.any_layout = any_layout(cluster)
        self._parts = parts_for(cluster, ranks, dtype, stack)
        self._bound = self._parts["device"]
        if scale.cap != 1.0:
            self._bound = self._parts["device"] = _with_cap(self._parts, scale.cap)
        where = WHERE if scale.cap == 1.0 else "scale.cap"
        self.power = law_of(self._parts["machine"], self._bound, where)
        if "stack" in self._parts:
            self._bound = parts_for(cluster, ranks, dtype, ROOFLINE)["device"]
        self._flops_per_ns = self._bound.peak_flops / 1e9 * scale.peak
        self._by_type: dict[str, float] = {}
        self._bytes_per_ns = self._bound.memory_bytes_per_s / 1e9 * scale.memory
        alike = like if like is not None and like.stack == stack else None
        self._experts: int | None = None if alike is None else alike._experts
        self._set_terms(alike)
        self._set_rates()
        # Measured times depend on the links alone, so machines with equal links share them.
        own = self._dimensions, self._delays_ns
        shares = like is not None and own == (like._dimensions, like._delays_ns)
        if tuned is not None and tuned is not like:
            shares = shares and own == (tuned._dimensions, tuned._delays_ns)
        shares = shares and like is not None and like.stack == stack
        self._measured: dict[tuple[CollectiveType, int, int], tuple[Line, ...]] = (
            like._measured if like is not None and shares else {}
        )
        self._columns: dict[tuple[CollectiveType, int, int], np.ndarray] = {}
        self._timed: dict[tuple[CollectiveType, int, int], Timed | None] = {}
        self._tables: dict[tuple[CollectiveType, tuple[tuple[int, int], ...]], LineTable] = {}

    def _set_terms(self, like: Machine | None) -> None:
        terms, selection = self._parts.get("stack"), self._parts["collectives"].selection
        slower = slowdown_on(terms, self._parts["topology"])
        self._slower = slower.communication
        self.launch_ns = slower.launch_ns / self._scale.latency
        self.host_waits = slower.host_waits
        self.taken = slower.taken
        self._kernels: KernelTimes | None = None
        self._selection = None
        if terms is None:
            return
        scale = self._scale
        self._kernels = KernelTimes(
            self._parts["device"],
            slower,
            self._longer if (scale.peak, scale.memory) != (1.0, 1.0) else None,
            None if like is None else like._kernels,
        )
        if selection is not None:
            self._selection = selection_of(of_model(selection, self._experts))

    def know(self, model: Any, *, dispatch: Dispatch = "once") -> None:
        """Let messages to experts be those of a model, and of plans with that `dispatch`."""
        selection, experts = self._parts["collectives"].selection, experts_a_token(model)
        experts = 1 if experts and dispatch == "each" else experts
        if self._selection is None or experts == self._experts or not leaves_to_model(selection):
            return
        self._experts = experts
        self._selection = selection_of(of_model(selection, experts))
        self._measured, self._columns, self._timed, self._tables = {}, {}, {}, {}

    def serve_with(self, engine: str) -> None:
        """Let a serving engine's own kernels run small all-reduces in a node."""
        collectives = self._parts["collectives"]
        if self._selection is None or engine not in ENGINES:
            return
        chosen = by_engine(collectives.selection, engine)
        self._parts["collectives"] = collectives.replace(selection=chosen)
        self._selection = selection_of(of_model(chosen, self._experts))
        self._measured, self._columns, self._timed, self._tables = {}, {}, {}, {}

    def _set_rates(self) -> None:
        scale, device = self._scale, self._parts["device"]
        self._parts["device"] = device.replace(
            peak_flops=device.peak_flops * scale.peak,
            memory_bytes_per_s=device.memory_bytes_per_s * scale.memory,
        )
        topology = self._parts["topology"]
        along = topology.dimensions
        factors = (*scale.links, *[1.0] * len(along))[: len(along)]
        self._dimensions = tuple(
            one.replace(
                bytes_per_ns=one.bytes_per_ns * factor,
                latency_ns=one.latency_ns / scale.latency,
            )
            for one, factor in zip(along, factors, strict=True)
        )
        self._parts["topology"] = topology.replace(dimensions=self._dimensions)
        collectives = self._parts["collectives"]
        delays = (collectives.endpoint_delay_ns, collectives.local_reduction_delay_ns)
        self._delays_ns = tuple(delay / scale.latency for delay in delays)

    def kernels_ns(self, blocks: Sequence[Block]) -> list[np.ndarray]:
        if self._kernels is not None:
            found = self._kernels.of(blocks)
        else:
            found = [np.maximum(*self._bounds_ns(one)) for one in blocks]
        return [self._capped(one.rows[0], ns) for one, ns in zip(blocks, found, strict=True)]

    def _capped(self, flops: Any, ns: Any) -> Any:
        law = self.power
        return ns if law is None or law.cap_w is None else ns * factors(law, flops, ns)

    def _longer(self, kernel: Block) -> np.ndarray:
        computes, moves = self._bounds_ns(kernel)
        before = np.maximum(computes * self._scale.peak, moves * self._scale.memory)
        some = before > 0
        longer = np.maximum(computes, moves)
        found: np.ndarray = np.divide(longer, before, out=np.ones_like(before), where=some)
        return found

    def _bounds_ns(self, kernel: Block) -> tuple[np.ndarray, np.ndarray]:
        rate = self._by_type.get(kernel.dtype) or self._rate(kernel.dtype)
        return kernel.rows[0] / rate, kernel.rows[1] / self._bytes_per_ns

    def _rate(self, dtype: str) -> float:
        compute = self._bound.compute
        share = 1.0
        if isinstance(compute, Plugin):
            share = shares_of(Options(**dict(compute.options)), (dtype,))[0]
        return self._by_type.setdefault(dtype, self._flops_per_ns * share)

    def optimizer_ns(self, made: Callable[[int], Operation], elements: Any) -> Any:
        """Return the times of optimizer kernels over so many elements, 0 for none.

        Memory bounds them.
        """
        if self._kernels is not None:
            return self._capped(0.0, self._kernels.at(made, elements))
        none, one = made(0), made(1)
        fixed = none.bytes_read + none.bytes_written
        each = one.bytes_read + one.bytes_written - fixed
        moved = np.where(np.asarray(elements) > 0, fixed + each * elements, 0)
        return self._capped(0.0, moved / self._bytes_per_ns)

    def collective_ns(self, kind: CollectiveType, size: int, stride: int, size_bytes: Any) -> Any:
        """Return the time of a collective alone; `size_bytes` per rank, number or array."""
        if size == 1:
            return size_bytes * 0.0
        amount = np.asarray(size_bytes, float)
        start, slope = self.lines_at(kind, size, stride, amount)
        return np.where(amount > 0, np.maximum(start + slope * amount, 0.0), 0.0)

    def collectives_ns(
        self, kind: CollectiveType, sizes: np.ndarray, strides: np.ndarray, size_bytes: np.ndarray
    ) -> np.ndarray:
        first, back = distinct(np.stack([sizes, strides], axis=1))
        groups = tuple(zip(sizes[first].tolist(), strides[first].tolist(), strict=True))
        table, amount = self.table_of(kind, groups), size_bytes.astype(float)
        at = table.begins.searchsorted(amount, side="right")
        times = np.maximum(table.starts[back, at] + table.slopes[back, at] * amount, 0.0)
        found: np.ndarray = np.where(amount > 0, times, 0.0)
        return found

    def lines_at(self, kind: CollectiveType, size: int, stride: int, size_bytes: Any) -> Any:
        """Return the start in ns and the slope per byte of the lines of sizes."""
        key = kind, size, stride
        lines = self._columns.get(key)
        if lines is None:
            lines = self._columns[key] = np.array(self.lines_of(*key)).T.copy()
        begins, starts, slopes = lines
        at = np.searchsorted(begins[1:], size_bytes, side="right")
        return starts[at], slopes[at]

    def table_of(self, kind: CollectiveType, groups: tuple[tuple[int, int], ...]) -> LineTable:
        if (kind, groups) not in self._tables:
            every = [np.array(self.lines_of(kind, *group)).T for group in groups]
            begins = np.unique(np.concatenate([lines[0, 1:] for lines in every]))
            ends = np.concatenate([[0.0], begins])
            places = [lines[0, 1:].searchsorted(ends, side="right") for lines in every]
            starts, slopes = (
                np.stack([lines[row][at] for lines, at in zip(every, places, strict=True)])
                for row in (1, 2)
            )
            self._tables[kind, groups] = LineTable(begins, starts, slopes)
        return self._tables[kind, groups]

    def line_of(
        self, kind: CollectiveType, size: int, stride: int, size_bytes: float
    ) -> tuple[float, float]:
        start, slope = self.lines_at(kind, size, stride, size_bytes)
        return float(start), float(slope)

    def lines_of(self, kind: CollectiveType, size: int, stride: int) -> tuple[Line, ...]:
        if size == 1:
            return (Line(0, 0.0, 0.0),)
        key = kind, size, stride
        if key not in self._measured:
            timed = self.timed(kind, size, stride)
            if timed is not None:
                self._measured[key] = self._through(timed, size, stride)
            else:
                self._measured[key] = self._measure(kind, size, stride)
        return self._measured[key]

    @property
    def is_timed(self) -> bool:
        """Whether gradients and weights take measured times, which share no links."""
        return self.timed(CollectiveType.REDUCE_SCATTER, self.ranks, 1) is not None

    def timed(self, kind: CollectiveType, size: int, stride: int) -> Timed | None:
        if self._selection is None:
            return None
        key = kind, size, stride
        if key not in self._timed:
            self._timed[key] = self._found(*key)
        return self._timed[key]

    @property
    def measures_all(self) -> bool:
        """Whether every collective asked so far is one that was measured."""
        return self._selection is not None and None not in self._timed.values()

    def _found(self, kind: CollectiveType, size: int, stride: int) -> Timed | None:
        assert self._selection is not None
        dimensions = tuple((topologies.shown(one.kind), one.size) for one in self._dimensions)
        inner, lowest = 1, 0
        while stride >= inner * dimensions[lowest][1]:
            inner *= dimensions[lowest][1]
            lowest += 1
        local = min(size, max(-(-dimensions[0][1] // stride), 1))
        group = Ranks(size, dimensions, None, lowest, local)
        chosen = self._selection.choices(_KINDS[kind].value, group) if kind in _KINDS else ()
        found = chosen[0].algorithms if chosen and chosen[0].from_bytes == 0 else None
        return found if isinstance(found, Timed) else None

    def _through(self, timed: Timed, size: int, stride: int) -> tuple[Line, ...]:
        """Return the lines through measured points, scaled to this machine."""
        least = timed.points[0][1] * self._slower
        uses = self.occupancy(size, stride)
        links = (*self._scale.links, *[1.0] * len(uses))
        faster = links[uses.index(max(uses))]
        sizes = [one for one, _ in timed.points]
        times = [
            least / self._scale.latency + (ns * self._slower - least) / faster
            for _, ns in timed.points
        ]
        lines = [Line(0, times[0], 0.0)]
        for at in range(len(sizes) - 1):
            slope = (times[at + 1] - times[at]) / (sizes[at + 1] - sizes[at])
            lines.append(Line(sizes[at], times[at] - slope * sizes[at], slope))
        return tuple(lines)

    def occupancy(self, size: int, stride: int) -> tuple[float, ...]:
        """Return the share of a collective's time in which it uses each dimension's links.

        It is 1 for the bounding dimension.
        """
        times, amount = [], 1.0
        for one in (self._tuned or self)._dimensions:
            inside = max(min(size, one.size // stride), 1) if stride < one.size else 1
            stride = max(stride // one.size, 1)
            times.append(amount * (inside - 1) / inside / one.bytes_per_ns)
            amount, size = amount / inside, size // inside
        most = max(times)
        return tuple(time / most if most else 0.0 for time in times)

    def nearest(self, size: int, stride: int) -> int:
        for one in self._dimensions:
            if stride < one.size:
                return int(max(min(size, one.size // stride), 1))
            stride //= one.size
        return 1

    def message_ns(self, stride: int, size_bytes: Any, first: int = 0) -> Any:
        """Return the time of a message to the rank `stride` further, outermost level."""
        inner = 1
        across = self._dimensions[0]
        for one in self._dimensions:
            if first // inner != (first + stride) // inner:
                across = one
            inner *= one.size
        hops = 2 if across.kind == "switch" else 1
        return self._slower * (hops * across.latency_ns + size_bytes / across.bytes_per_ns)

    def hop_line(self, stride: int, stages: int) -> tuple[float, float]:
        """Return a mean message between stages: its start, and its slope per byte."""
        firsts = range(0, (stages - 1) * stride, stride)
        empty = [self.message_ns(stride, 0.0, first) for first in firsts]
        one = [self.message_ns(stride, 1.0, first) for first in firsts]
        start = sum(empty) / len(empty)
        return start, sum(one) / len(one) - start

    def _measure(self, kind: CollectiveType, size: int, stride: int) -> tuple[Line, ...]:
        spans = self._spans(kind, size, stride)
        sizes = sorted({one for span in spans for one in span})
        times = dict(zip(sizes, self._times(kind, size, stride, sizes), strict=True))
        lines: list[Line] = []
        for low, high in spans:
            slope = (times[high] - times[low]) / (high - low)
            lines.append(Line(low if lines else 0, times[low] - slope * low, slope))
        return tuple(lines)

    def _spans(self, kind: CollectiveType, size: int, stride: int) -> list[tuple[int, int]]:
        """Return the sizes between which times are linear."""
        alone = _alone(kind, size, stride, self._enough(size, stride), (1,), (1,))
        chosen = self._compiled(alone, 1).chosen
        begins = {begin for one in chosen for begin, _ in one.by_size if 0 < begin <= _LARGEST}
        last = max(begins, default=0)
        powers = {int(2.0 ** (at / 2)) for at in _HALF_POWERS}
        knots = sorted(begins | powers | {8 * last, max(8 * last, _LONG), 64 * max(last, _LONG)})
        return [
            (low, high - 1 if high in begins else high) for low, high in itertools.pairwise(knots)
        ]

    def _times(self, kind: CollectiveType, size: int, stride: int, sizes: list[int]) -> list[float]:
        fine, gaps = self._gaps(size, sizes)
        alone = _alone(kind, size, stride, self._enough(size, stride), sizes, gaps)
        result = run(self._compiled(alone, fine))
        ends = np.asarray(result.outcome.end).reshape(-1, 2 * len(sizes)).max(axis=0)
        taken = ends[1::2] - ends[0::2]
        assert np.all(ends[1:-1:2] <= ends[2::2]), "collectives that were to be apart meet"
        ticks = fine * result.model.ticks_per_ns
        return [float(one) / ticks for one in taken]

    def _enough(self, size: int, stride: int) -> int:
        """Return how many ranks a group is measured among:

        the inner dimensions that it and groups beside it fill, else two groups one after the other
        at an outermost switch, else all. Groups further out share no link with these.
        """
        each = size * stride
        for count in range(1, len(self._dimensions)):
            inner: int = math.prod(one.size for one in self._dimensions[:count])
            if inner % each == 0:
                return inner
        few = 2 * each
        inner = math.prod(one.size for one in self._dimensions[:-1])
        is_switch = self._dimensions[-1].kind == "switch"
        fits = few % inner == 0 and few // inner > 1 and self.ranks % few == 0
        return few if is_switch and fits else self.ranks

    def _compiled(self, workload: Templates, fine: int) -> Model:
        tuned, ranks = None, workload.workload.ranks
        if self._tuned is not None:
            tuned = Scenario(workload=workload, **self._tuned._slow(fine, ranks))
        return compile(Scenario(workload=workload, **self._slow(fine, ranks)), tuned=tuned)

    def _gaps(self, size: int, sizes: Sequence[int]) -> tuple[int, list[int]]:
        slowest = min(one.bytes_per_ns for one in self._dimensions)
        latest = max(one.latency_ns for one in self._dimensions) + sum(self._delays_ns)
        takes = [size * (2 * one / slowest + 16 * latest) for one in (0, *sizes)]
        fine = _FINE
        while fine > 1 and fine * sum(takes) > _LONGEST_NS:
            fine //= 2
        return fine, [math.ceil(fine * each) for each in takes[:-1]]

    def _slow(self, fine: int, ranks: int) -> dict[str, Any]:
        """Return the parts with the network's rates divided, for finer ticks."""
        slow: list[Any] = []
        left = ranks
        for one in self._dimensions:
            if left > 1 or not slow:
                fewer = min(one.size, left)
                rate, latency = one.bytes_per_ns / fine, one.latency_ns * fine
                slow.append(one.replace(size=fewer, bytes_per_ns=rate, latency_ns=latency))
                left //= fewer
        device = self._parts["device"]
        if self.stack not in WITHOUT_TERMS:
            device = device.replace(compute="roofline")
        stack = {"stack": None if self._slower == 1.0 else Stack(communication=self._slower)}
        return {
            **self._parts,
            **stack,
            "topology": self._parts["topology"].replace(dimensions=tuple(slow)),
            "device": device.replace(
                peak_flops=1e9, memory_bytes_per_s=device.memory_bytes_per_s / fine
            ),
            "collectives": self._collectives(fine, len(slow)),
        }

    def _collectives(self, times: int, dimensions: int | None = None) -> Any:
        endpoint, reduction = (round(delay * times) for delay in self._delays_ns)
        of = self._parts["collectives"]
        names = {
            name: named[:dimensions]
            for name, named in of.by_type().items()
            if isinstance(named, tuple)
        }
        return of.replace(endpoint_delay_ns=endpoint, local_reduction_delay_ns=reduction, **names)

    @property
    def parts(self) -> dict[str, Any]:
        """Raises UnsupportedError for measured times at a scale, whose law a run does not know."""
        if self.stack not in WITHOUT_TERMS and self._scale != Scale():
            problem = f"times of stack {self.stack} at other rates are by closed form alone"
            raise UnsupportedError(f"scale: {problem}; simulate with stack: {ROOFLINE}")
        return {**self._parts, "collectives": self._collectives(1)}

    @property
    def dimensions(self) -> int:
        return len(self._dimensions)

    @property
    def rates(self) -> tuple[str, ...]:
        return ("peak", "memory", "latency", *(f"links {at}" for at in range(self.dimensions)))


def _with_cap(parts: Mapping[str, Any], factor: float) -> Any:
    most = parts["device"].power_cap_w or parts["machine"].power_w
    if most is None:
        raise ConfigError("scale.cap", "the cluster states no power of a device; give device.power")
    return parts["device"].replace(power_cap_w=most * factor)


def _alone(
    kind: CollectiveType,
    size: int,
    stride: int,
    ranks: int,
    sizes: Sequence[int],
    gaps_ns: Sequence[int],
) -> Templates:
    """Return a workload in which all groups of `size` run collectives of these sizes."""
    axes = [("inner", stride), ("member", size), ("outer", ranks // (size * stride))]
    trace = TraceBuilder()
    last: Any = []
    for size_bytes, gap in zip(sizes, gaps_ns, strict=True):
        last = trace.compute("apart", num_ops=gap, tensor_size=1, after=last)
        trace.collective(kind, size_bytes, name="one", group="g", after=last)
    return Templates(
        workload=Workload(
            grids=[Grid("all", views={"all": axes})],
            groups={"g": Group("all", ("member",), grid="all")},
            classes=[RankClass("all", {}, "one")],
            templates={"one": trace.build()},
        )
    )
