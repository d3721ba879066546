"""A scenario's collectives as plans of the core: levels, members, programs."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, TraceError, UnsupportedError, did_you_mean
from yantra.base.fields import named
from yantra.base.plugin_files import Named
from yantra.base.units import format_size
from yantra.chakra import files
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.names import Implementation, parse_implementation
from yantra.collectives.program import ExchangeProgram, GraphProgram, Op, Program, RingKind, Run
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.selection import checked_choices, is_timed, selection_of
from yantra.compile.communicators import Communicators, Layout
from yantra.compile.graphs import Graphs, check, read
from yantra.compile.removal import NOTHING, Without, bandwidth_of
from yantra.compile.slowdown import slowdown_of
from yantra.fabric.topologies import topologies
from yantra.network import level_of, native_options
from yantra.scenario import Custom, Scenario
from yantra.scenario.quirks import Quirk
from yantra.scenario.types import COLLECTIVE_TYPES

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from yantra.collectives.algorithm import CollectiveAlgorithm
    from yantra.collectives.counts import Counts
    from yantra.collectives.selection.selection import Link, Timed
    from yantra.compile.candidates import InNodes, Over
    from yantra.compile.cutting import Cost, Phase
    from yantra.compile.fabric import OnFabric
    from yantra.fabric.graphs.switches import FabricSwitches

    Choices = tuple[Named, ...] | Custom | Timed
    """What a scenario or a selection may choose for a size."""
    Runs = tuple[Named, ...] | Custom | Timed | str
    """What runs: algorithms, traces, a measured time, or stages in nodes in words."""

KINDS = tuple(Kind)
_OF_COMM_TYPE = (
    Kind.ALL_REDUCE,
    Kind.REDUCE,
    Kind.ALL_GATHER,
    Kind.GATHER,
    Kind.SCATTER,
    Kind.BROADCAST,
    Kind.ALL_TO_ALL,
    Kind.REDUCE_SCATTER,
    Kind.REDUCE_SCATTER,
    Kind.BARRIER,
)
_OPERATIONS = {
    "send": _core.OperationKind.SEND,
    "recv": _core.OperationKind.RECV,
    "local": _core.OperationKind.LOCAL,
}
_ROOTED = "binomial_tree"
_LANES, _LANES_INSIDE = 4, 2
"""Chunks a level runs at once, so latencies overlap."""

_Programs = dict[_core.CollectiveKind, _core.ProgramId]


class _LevelPrograms(NamedTuple):
    """Programs by kind, those that take turns with them, their counter, why others are missing."""

    programs: _Programs
    alternates: _Programs
    counter: _core.PhaseCounterId | None
    missing: dict[Kind, str]


class _Place(NamedTuple):
    size: int
    stride: int
    index_stride: int
    dimension: int
    coordinates: tuple[int, ...] = ()


class Chosen(NamedTuple):
    """What runs a kind in groups of equal layout: names by size.

    `chunks` per size, 0: not stated. The rest is as in
    `yantra.collectives.selection.selection.Group`.
    """

    kind: str
    ranks: int
    whole: frozenset[int] | None
    lowest: int | None
    local: int
    by_size: tuple[tuple[int, Runs], ...]
    chunks: tuple[int, ...] = ()


class _Way(NamedTuple):
    """A plan's levels, dimensions, and costs by kind.

    `costs`: of messages, whether all wait for all, and the factor on the data.
    """

    levels: list[_core.Level]
    dimensions: tuple[int, ...]
    costs: dict[tuple[int, Kind], tuple[Cost, bool, float] | None]
    runs: Runs
    chained: bool
    over_members: bool
    in_stages: bool
    lanes: Sequence[int] = ()


class _Planned(NamedTuple):
    """A plan, what it runs, and chunks by size."""

    from_bytes: int
    plan: _core.PlanId
    runs: Runs
    chunks: int


class Planned(NamedTuple):
    """What a plan of all collectives came to; as in `yantra.compile.Model`."""

    rests_on: tuple[str, ...]
    charged: bool
    uncharged: bool
    chosen: tuple[Chosen, ...]
    has_switches: bool


class Planner:
    """Adds programs, plans and custom collectives to a model.

    After `plan`: `planned`, `offered`: kinds with a plan, `by_traces`: those given by traces over
    all ranks, `covered[kind]`: dimensions of the all-rank plan, `impossible[kind, dimension,
    is_last]`: why an algorithm cannot run there, `custom_by_node`: custom collectives of single
    nodes.
    """

    def __init__(
        self,
        builder: _core.ModelBuilder,
        scenario: Scenario,
        quirks: frozenset[Quirk],
        communicators: Communicators,
        ticks_per_ns: int,
        without: Without = NOTHING,
        on_fabric: OnFabric | None = None,
        tuned: Scenario | None = None,
    ) -> None:
        """Plan a scenario's collectives, with ways and chunks that suit `tuned`, if given."""
        self.builder = builder
        self._tuned = tuned or scenario
        self.on_fabric = on_fabric
        self.has_switches = False
        self.charged = self.uncharged = False
        self.warnings: list[str] = []
        self._switches: FabricSwitches | None = None
        self.without = without
        self._slower = slowdown_of(scenario).communication
        self._ticks_per_ns = ticks_per_ns
        self.scenario = scenario
        self.quirks = quirks
        self.communicators = communicators
        self.faithful = Quirk.UNEVEN_REDUCTIONS in quirks
        self.offered: set[_core.CollectiveKind] = set()
        self.by_traces: set[_core.CollectiveKind] = set()
        self.covered: dict[_core.CollectiveKind, set[int]] = {}
        self.impossible: dict[tuple[_core.CollectiveKind, int, bool], str] = {}
        self.custom_by_node: dict[int, _core.CustomId] = {}
        self.rests_on: dict[str, None] = {}
        self.chosen: list[Chosen] = []
        self._programs: dict[
            tuple[Named, Kind, int, RingKind], tuple[_core.ProgramId, ...] | str
        ] = {}
        self._counted: dict[tuple[int, Counts], _core.ProgramId] = {}
        self._custom: dict[tuple[str, Hashable], _core.CustomId] = {}
        self._whole: dict[tuple[Kind, tuple[Named, ...], frozenset[int]], _core.PlanId] = {}
        self._written: dict[tuple[Named, Kind, int, RingKind], Program] = {}
        self._native: dict[Hashable, list[_Planned]] = {}
        self._flat: dict[tuple[Kind, tuple[Named, ...], int, int], _core.PlanId] = {}
        self._by_type = scenario.collectives.by_type()
        chosen = scenario.collectives.selection
        self._selection = None if chosen is None else selection_of(chosen)
        self._counters: dict[tuple[Kind, Hashable], _core.PhaseCounterId] = {}

    @property
    def planned(self) -> Planned:
        known = tuple(self.rests_on), self.charged, self.uncharged
        return Planned(*known, tuple(self.chosen), self.has_switches)

    def plan(self, used: Mapping[_core.LayoutId, set[Kind]]) -> None:
        for layout in self.communicators.layouts:
            for kind in sorted(used.get(layout.id, ()), key=KINDS.index):
                by_size = self._by_size(layout, kind)
                where = (layout.size, layout.whole, layout.lowest, layout.local)
                if layout.is_world and all(isinstance(chosen, Custom) for _, chosen in by_size):
                    self.by_traces.add(native_kind(kind))
                planned = list(self._planned(layout, kind, by_size))
                for one in planned:
                    self.builder.set_plan(layout.id, native_kind(kind), one.plan, one.from_bytes)
                    self.offered.add(native_kind(kind))
                runs = tuple((one.from_bytes, one.runs) for one in planned)
                chunks = tuple(one.chunks for one in planned)
                self.chosen.append(Chosen(kind.value, *where, runs, chunks))
        for node, prefix in self.scenario.collectives.custom_per_node:
            self.custom_by_node[node] = self._add_custom(prefix, self.communicators.layouts[0])

    def _planned(
        self, layout: Layout, kind: Kind, by_size: Sequence[tuple[int, Choices]]
    ) -> Iterator[_Planned]:
        ends = (*(begin for begin, _ in by_size[1:]), None)
        for (begin, chosen), end in zip(by_size, ends, strict=False):
            if not self._is_free(layout, kind, chosen):
                runs = self._runs(layout, kind, chosen)
                yield _Planned(begin, self._plan(layout, kind, chosen), runs, 0)
                continue
            assert isinstance(chosen, tuple) and not is_timed(chosen)
            found = self._native_plans(layout, kind, chosen)
            first = max(at for at, one in enumerate(found) if one.from_bytes <= begin)
            for one in found[first:]:
                if end is None or one.from_bytes < end:
                    yield one._replace(from_bytes=max(begin, one.from_bytes))

    def _is_free(self, layout: Layout, kind: Kind, chosen: Choices) -> bool:
        # Not prescribed by ASTRA-sim, traces or times.
        return (
            self.scenario.semantics == "yantra"
            and Quirk.GROUP_RING not in self.quirks
            and (layout.spans_all or Quirk.GROUPS_ARE_RINGS not in self.quirks)
            and not isinstance(chosen, Custom)
            and not is_timed(chosen)
            and layout.size > 1
            and self._counts(layout, kind, chosen) is None
        )

    def _native_plans(self, layout: Layout, kind: Kind, names: tuple[Named, ...]) -> list[_Planned]:
        from yantra.compile import candidates

        usual = kind.value not in self._by_type and names == self._algorithms(kind)
        found = candidates.ways(self.scenario, layout, kind, names, usual=usual)
        key = (kind, layout.size, layout.lowest, layout.is_world, layout.residue, tuple(
            one.nodes if isinstance(one, candidates.InNodes) else one for one in found
        ))  # fmt: skip
        if key not in self._native:
            self._native[key] = list(self._cut(layout, kind, found))
        return self._native[key]

    def _cut(
        self, layout: Layout, kind: Kind, found: Sequence[Over | InNodes]
    ) -> Iterator[_Planned]:
        from yantra.compile.cutting import counts_of, cuts

        made = [self._made_way(layout, kind, way) for way in found]
        given = self.scenario.collectives.chunks
        choices, ways = [], []
        for way in made:
            for lanes in self._lanes(kind, way):
                orders = self._orders(kind, way, lanes)
                counts = (given,) if given else counts_of(len(orders), chained=way.chained)
                if kind is Kind.BARRIER:
                    counts = (1,)
                choices.append((orders, counts))
                ways.append(way._replace(lanes=lanes))
        plans: dict[tuple[int, int], _core.PlanId] = {}
        for cut in cuts(tuple(choices)):
            way = ways[cut.candidate]
            if cut[1:] not in plans:
                chunks = 0 if given else cut.chunks
                plans[cut[1:]] = self._plan_of_way(layout, way, chunks)
            yield _Planned(cut.from_bytes, plans[cut[1:]], way.runs, cut.chunks)
        if layout.is_world and any(way.in_stages for way in made):
            plan = self._plan_of_way(layout, made[0], 0 if given else 1)
            self.builder.set_partial_plan(layout.id, native_kind(kind), plan)

    def _made_way(self, layout: Layout, kind: Kind, way: Over | InNodes) -> _Way:
        from yantra.compile.candidates import CHAIN, SPREAD, InNodes

        if isinstance(way, InNodes):
            return self._staged_way(layout, kind, way)
        if not way.levels:
            level = self._flat_level(kind, way.names[0], layout, layout.lowest or 0)
            costs = {(0, kind): self._cost(way.names[0], kind, layout.size, "group")}
            chained = way.names[0] == CHAIN
            return _Way([level], (layout.lowest or 0,), costs, way.names, chained, True, False)
        levels, costs = [], {}
        for at, (name, place) in enumerate(zip(way.names, way.levels, strict=True)):
            where = f"collectives.{kind.value}[{place.dimension}]"
            implementation = self._implementation(name, where)
            is_last = None if layout.is_world else at == len(way.levels) - 1
            levels.append(self._level(kind, implementation, _Place(*place), layout, is_last))
            if layout.is_world:
                self.covered.setdefault(native_kind(kind), set()).add(place.dimension)
            for needed in self._needed(kind):
                costs[at, needed] = self._cost(name, needed, place.size, "usual")
        dimensions = tuple(place.dimension for place in way.levels)
        chained = CHAIN in way.names or SPREAD in way.names
        return _Way(levels, dimensions, costs, way.names, chained, False, False)

    def _staged_way(self, layout: Layout, kind: Kind, way: InNodes) -> _Way:
        from yantra.compile.candidates import ROOTED
        from yantra.compile.cutting import cost_of

        levels: list[_core.Level] = []
        dimensions: list[int] = []
        lanes: list[int] = []
        costs: dict[tuple[int, Kind], tuple[Cost, bool, float] | None] = {}
        for at, dimension in enumerate((0, 1, 0)):
            if not way.stages.parts[at]:
                continue
            program = _lowered(way.stages.part(at))._replace(final_num=1, final_den=1)
            # A queue waits for several messages in turn: two chunks hide that. In the first stage
            # they would share links, and none reaches the next early.
            cost = cost_of(program)
            costs[len(levels), kind] = cost, False, 1.0
            wired = self._on_the_wire(program)
            added = {native_kind(kind): add_program(self.builder, wired, None, self._step_ticks())}
            place = _Place(layout.size, 1, 1, dimension)
            lanes.append(2 if at > 0 and cost.wait > 1 else 1)
            levels.append(_level(place, False, _LevelPrograms(added, added, None, {})))
            dimensions.append(dimension)
        self._cover_all(layout, kind)
        chained = kind in ROOTED
        return _Way(levels, tuple(dimensions), costs, way.words, chained, True, True, lanes)

    def _cost(
        self, name: Named, kind: Kind, n: int, ring_kind: RingKind
    ) -> tuple[Cost, bool, float] | None:
        from yantra.compile.candidates import ROOTED
        from yantra.compile.cutting import cost_of, shape_of

        made = self._written.get((name, kind, n, ring_kind))
        if made is None:
            return None
        return cost_of(made), kind not in ROOTED, shape_of(made)

    def _lanes(self, kind: Kind, way: _Way) -> list[list[int]]:
        """Queues that chunks may take in turn, by level.

        Several where the number of chunks is free and a message uses only its ends' links;
        elsewhere chunks at different steps get in each other's way. An all-reduce's chunks return
        to the innermost level; others fill the gap.
        """
        given = self.scenario.collectives.chunks
        usual = list(way.lanes) or [1] * len(way.levels)
        dimensions = self.scenario.topology.dimensions
        kinds = {topologies.shown(dimensions[at].kind) for at in way.dimensions}
        if given or len(usual) == 1 or not kinds <= {"switch", "fully_connected"}:
            return [usual]
        times = [_LANES] * len(usual)
        if not way.in_stages:
            times[0] = 1 if kind is Kind.ALL_REDUCE else _LANES_INSIDE
        return [usual, [each * more for each, more in zip(usual, times, strict=True)]]

    def _orders(self, kind: Kind, way: _Way, lanes: Sequence[int]) -> tuple[tuple[Phase, ...], ...]:
        from yantra.compile.cutting import crossed, phase, visits

        collectives = self.scenario.collectives
        turns = collectives.inter_dimension != "ascending" and not way.over_members
        hierarchical = collectives.all_reduce_shape == "local_bw_aware" and not way.in_stages
        count = len(way.levels)
        orders = []
        for turn in range(count if turns else 1):
            visited = [(level, kind) for level in range(count)]
            if not way.in_stages:
                visited = visits(kind, count, hierarchical=hierarchical, turns=turn)
            share, phases = 1.0, []
            for level, part in visited:
                cost = way.costs.get((level, part))
                if cost is None:  # cannot run there; reported where a node needs it
                    continue
                dimension = way.dimensions[level]
                queue = level if way.in_stages else dimension
                along = self._tuned.topology.dimensions[dimension]
                if not level_of(self.scenario.network).has("charges_latency"):
                    along = along.replace(latency_ns=0.0)
                over = crossed(along, self._tuned.collectives.endpoint_delay_ns)
                one = phase(cost[0], over, queue, share, alike=cost[1])
                usual = way.lanes[level] if way.lanes else 1
                phases.append(one._replace(lanes=lanes[level], shares=lanes[level] > usual))
                share *= cost[2]
            orders.append(tuple(phases))
        return tuple(orders)

    def _plan_of_way(self, layout: Layout, way: _Way, chunks: int) -> _core.PlanId:
        shares = not way.over_members and len(way.levels) > 1
        return self.builder.add_plan(
            levels=way.levels,
            over_members=way.over_members,
            communicator_size=layout.size,
            custom=None,
            masked=layout.is_world and not way.over_members,
            shared_load=shares,
            in_stages=way.in_stages,
            chunks=chunks,
            lanes=way.lanes,
        )

    def kinds_of_graphs(self, graphs: Graphs) -> dict[_core.LayoutId, set[Kind]]:
        of_layouts, others = self.builder.used_in_layouts(
            graphs.with_arriving(), self.communicators.by_name
        )
        kinds = list(enumerate(_OF_COMM_TYPE))
        used = {
            layout: {kind for at, kind in kinds if types >> at & 1} for layout, types in of_layouts
        }
        for one in others:  # a number spelled otherwise, or an unknown type
            communicator = self.communicators.find(one.group)
            if communicator is not None and one.comm_type < len(_OF_COMM_TYPE):
                layout = self.builder.layout_of(communicator)
                used.setdefault(layout, set()).add(_OF_COMM_TYPE[one.comm_type])
        return used

    def kinds_of_templates(self, assignment: _core.Assignment) -> dict[_core.LayoutId, set[Kind]]:
        known = len(_OF_COMM_TYPE)
        return {
            layout.id: {_OF_COMM_TYPE[at] for at in assignment.comm_types(layout.id) if at < known}
            for layout in self.communicators.layouts
        }

    def _by_size(self, layout: Layout, kind: Kind) -> list[tuple[int, Choices]]:
        usual = self._algorithms(kind)
        found: dict[int, Choices] = {} if usual is None else {0: usual}
        if self._selection is not None:
            from yantra.collectives.selection.selection import Group

            dimensions = self.scenario.topology.dimensions
            group = Group(
                ranks=layout.size,
                dimensions=tuple((topologies.shown(d.kind), d.size) for d in dimensions),
                whole=None if layout.whole is None else tuple(sorted(layout.whole)),
                lowest=layout.lowest,
                local=layout.local,
                links=self._links(),
            )
            chosen = checked_choices(self._selection, kind.value, group)
            self._check_names(chosen, kind)
            found |= chosen
        if found and 0 not in found:
            raise ConfigError(
                f"collectives.{kind.value}",
                f"missing; the selection leaves sizes below {min(found)} B to it",
            )
        return sorted(found.items())

    def _links(self) -> tuple[Link, ...]:
        from yantra.collectives.selection.selection import Link

        network = self.scenario.network
        options = native_options(network) if level_of(network).model is None else {}
        return tuple(
            Link(
                dimension.bytes_per_ns * options.get("speedup", 1.0),
                dimension.latency_ns,
                bandwidth_of(at, dimension, self.without) == inf,
                self._no_latency(),
            )
            for at, dimension in enumerate(self.scenario.topology.dimensions)
        )

    def _no_latency(self) -> bool:
        level = level_of(self.scenario.network)
        return "latency" in self.without or not level.has("charges_latency")

    def _plan(self, layout: Layout, kind: Kind, chosen: Choices) -> _core.PlanId:
        counts = self._counts(layout, kind, chosen)
        if counts is not None:
            return self._counted_plan(layout, kind, counts)
        if is_timed(chosen):
            return self._timed_plan(layout, kind, chosen)
        if isinstance(chosen, Custom):
            return self._add_plan([], layout, custom=self._add_custom(chosen.prefix, layout))
        if layout.spans_all:
            return self._add_plan(self._grid_levels(kind, chosen, layout), layout)
        if layout.size == 1:
            return self._add_plan([], layout)
        if Quirk.GROUP_RING in self.quirks:
            return self._flat_plan(kind, chosen, layout, 0)
        if layout.whole is not None and len(chosen) == len(self.scenario.topology.dimensions):
            key = (kind, chosen, layout.whole)
            if key not in self._whole:
                levels = self._grid_levels(kind, chosen, layout, layout.whole)
                self._whole[key] = self._add_plan(levels, layout)
            return self._whole[key]
        return self._flat_plan(kind, chosen, layout, layout.lowest or 0)

    def _runs(self, layout: Layout, kind: Kind, chosen: Choices) -> Choices:
        if isinstance(chosen, Custom) or is_timed(chosen):
            return chosen
        if self._counts(layout, kind, chosen) is not None:
            return ("counts",)
        return self._names(layout, chosen)

    def _names(self, layout: Layout, names: tuple[Named, ...]) -> tuple[Named, ...]:
        is_one = len(set(names)) == 1
        if layout.spans_all:
            return names
        if Quirk.GROUPS_ARE_RINGS in self.quirks:
            return ("ring",)
        if Quirk.GROUP_RING in self.quirks:
            keeps = len(names) == 1 or (is_one and names[0] == _ROOTED)
            return names[:1] if keeps else ("ring",)
        if layout.whole is not None and len(names) == len(self.scenario.topology.dimensions):
            return tuple(names[dimension] for dimension in sorted(layout.whole))
        return names[:1] if is_one else ("ring",)

    def _cover_all(self, layout: Layout, kind: Kind) -> None:
        if layout.is_world:
            dimensions = range(len(self.scenario.topology.dimensions))
            self.covered.setdefault(native_kind(kind), set()).update(dimensions)

    def _timed_plan(self, layout: Layout, kind: Kind, chosen: Timed) -> _core.PlanId:
        if layout.size == 1:
            return self._add_plan([], layout)
        self.rests_on[chosen.basis] = None
        self._cover_all(layout, kind)
        points = [(size, self._ticks_of(ns, chosen)) for size, ns in chosen.points]
        local = max(1, min(layout.local, layout.size))
        local = local if layout.size % local == 0 else 1
        program = self.builder.add_timed(points, local, self._charges(layout, kind, chosen, local))
        return self._plan_of_members(layout, kind, program, chunks=1)

    def _charges(
        self, layout: Layout, kind: Kind, chosen: Timed, local: int
    ) -> list[tuple[int, list[_core.Charge]]]:
        """What a collective of known time puts on links, by size."""
        from yantra.collectives.charges import charges, knows

        ran = [(size, name.partition(" ")[0]) for size, name in chosen.runs]
        if not ran or not all(knows(name, kind.value) for _, name in ran):
            self.uncharged = True
            return []
        self.charged = True
        self._warn_above(layout, kind, chosen, local)
        found: list[tuple[int, list[_core.Charge]]] = []
        for at, (size, name) in enumerate(ran):
            if at and name == ran[at - 1][1]:
                continue
            sent = charges(name, kind.value, layout.size, local, chosen.once, chosen.near)
            found.append((size, [_core.Charge(**one._asdict()) for one in sent]))
        return found

    def _warn_above(self, layout: Layout, kind: Kind, chosen: Timed, local: int) -> None:
        """Warn where a measured time is below what links allow; it stays."""
        from yantra.collectives.charges import above

        dimensions = self.scenario.topology.dimensions
        if self.without or self.on_fabric is not None or layout.lowest is None:
            return
        over = [d.bytes_per_ns for d in dimensions[1:]] or [inf]
        inner = dimensions[0].bytes_per_ns if layout.lowest == 0 else inf
        if topologies.shown(dimensions[0].kind) != "switch":
            inner = inf  # a member has several links there
        found = above(
            chosen.points, chosen.runs, kind.value, layout.size, local, (inner, max(over)),
            chosen.once, chosen.near,
        )  # fmt: skip
        if found is not None:
            where = "to other nodes" if found.over_nodes else "in its node"
            said = (
                f"{kind.value} of {format_size(found.size_bytes)} over {layout.size} ranks: its "
                f"measured time is so short that a rank's links {where} carry "
                f"{found.times:.3g} times what they can (from {chosen.basis}); the time is kept"
            )
            if said not in self.warnings:
                self.warnings.append(said)

    def _counts(self, layout: Layout, kind: Kind, chosen: Choices) -> Counts | None:
        """What pairs exchange in an all-to-all; None if equal."""
        given = self.scenario.collectives.counts
        if given is None or kind is not Kind.ALL_TO_ALL or layout.size == 1:
            return None
        from yantra.collectives import counts

        members = layout.size
        if given.file:
            found = counts.load(given.file)
            if len(found) != members:
                return None
        elif given.ranks not in (0, members):
            return None
        else:
            where = "collectives.counts.experts"
            if given.experts % members or members > counts.MOST:
                problem = f"{given.experts} experts cannot be split over a group of {members} ranks"
                raise ConfigError(where, f"{problem}; ranks says which groups are routed")
            exponent = counts.exponent_of(given.routing or "", "collectives.counts.routing")
            found = counts.of_routing(exponent, given.experts, members)
        if not isinstance(chosen, tuple) or is_timed(chosen):
            problem = "not where the time or the traces of an all-to-all are given"
            raise ConfigError("collectives.counts", problem)
        return found

    def _counted_plan(self, layout: Layout, kind: Kind, counts: Counts) -> _core.PlanId:
        from yantra.collectives.counts import program_of

        self._cover_all(layout, kind)
        key = (layout.size, counts)
        if key not in self._counted:
            program = self._on_the_wire(program_of(counts))
            added = add_program(self.builder, program, step_ticks=self._step_ticks())
            self._counted[key] = added
        return self._plan_of_members(layout, kind, self._counted[key])

    def _plan_of_members(
        self, layout: Layout, kind: Kind, program: _core.ProgramId, *, chunks: int = 0
    ) -> _core.PlanId:
        native = native_kind(kind)
        place = _Place(layout.size, 1, 1, layout.lowest or 0)
        made = _LevelPrograms({native: program}, {native: program}, None, {})
        return self.builder.add_plan(
            levels=[_level(place, False, made)],
            over_members=True,
            communicator_size=layout.size,
            custom=None,
            masked=False,
            shared_load=False,
            chunks=chunks,
        )

    def _ticks_of(self, ns: float, timed: Timed) -> int:
        """If a time does not follow links, the least bytes take the latency, more the rest."""
        if timed.follows_links:
            return max(1, round(ns * self._slower * self._ticks_per_ns))
        latency = timed.points[0][1]
        kept = 0.0 if self._no_latency() else latency
        kept += 0.0 if "bandwidth" in self.without else max(ns - latency, 0.0)
        return max(1, round(kept * self._slower * self._ticks_per_ns))

    def _add_plan(
        self,
        levels: list[_core.Level],
        layout: Layout,
        *,
        over_members: bool = False,
        custom: _core.CustomId | None = None,
    ) -> _core.PlanId:
        over_grid = layout.is_world and bool(levels)
        return self.builder.add_plan(
            levels=levels,
            over_members=over_members,
            communicator_size=layout.size,
            custom=custom,
            masked=over_grid,
            shared_load=over_grid,
        )

    def _algorithms(self, kind: Kind) -> tuple[Named, ...] | Custom | None:
        if kind.value in self._by_type:
            return self._by_type[kind.value]
        if self.scenario.semantics != "yantra" and kind is not Kind.BROADCAST:
            return None
        if kind is Kind.BROADCAST and Quirk.BROADCAST_IS_A_TIMER in self.quirks:
            return None
        from yantra.compile.candidates import STAR

        name = STAR if kind in (Kind.GATHER, Kind.SCATTER) else _ROOTED
        return (name,) * len(self.scenario.topology.dimensions)

    def _grid_levels(
        self,
        kind: Kind,
        names: tuple[Named, ...],
        layout: Layout,
        only: frozenset[int] | None = None,
    ) -> list[_core.Level]:
        levels = []
        stride = index_stride = 1
        for dimension, name in enumerate(names):
            where = f"collectives.{kind.value}[{dimension}]"
            implementation = self._implementation(name, where)
            size = self.scenario.topology.dimensions[dimension].size
            over_all = implementation.one
            if over_all:
                size, stride, index_stride = self.scenario.topology.ranks, 1, 1
            if only is None or dimension in only:
                place = _Place(size, stride, index_stride, dimension)
                is_last = None if only is None else dimension == max(only)
                levels.append(self._level(kind, implementation, place, layout, is_last))
                index_stride *= size
                if layout.is_world:
                    self.covered.setdefault(native_kind(kind), set()).add(dimension)
            if over_all:
                break
            stride *= size
        return levels

    def _check_names(self, chosen: dict[int, tuple[Named, ...] | Timed], kind: Kind) -> None:
        where, choice = "collectives.selection", self.scenario.collectives.selection
        assert choice is not None
        for names in chosen.values():
            for name in () if is_timed(names) else names:
                try:
                    self._implementation(name, where)
                except ConfigError as error:
                    problem = f"{named(choice)} chooses for {kind.value}: {error.problem}"
                    raise ConfigError(where, problem) from None

    def _implementation(self, name: Named, where: str) -> Implementation:
        if self.scenario.semantics != "yantra" and not _is_own(name):
            return parse_implementation(str(name), where)
        find(name, where)
        return Implementation(name, False, None)

    def _level(
        self,
        kind: Kind,
        chosen: Implementation,
        place: _Place,
        layout: Layout,
        is_last: bool | None,
    ) -> _core.Level:
        """`is_last`: its place among those visited; None: the node decides."""
        dimension = place.dimension
        made = self._level_programs(kind, chosen, place.size, "usual", dimension)
        for last, needed in self._roles(kind).items():
            lacking = next((made.missing[part] for part in needed if part in made.missing), None)
            if lacking is None or is_last not in (None, last):
                continue
            shown = algorithms.shown(chosen.algorithm)
            reason = f"{kind.value} over dimension {dimension}: {shown}: {lacking}"
            if not layout.is_world:
                raise UnsupportedError(reason)
            self.impossible[native_kind(kind), dimension, last] = reason
        return _level(place, self._hands_over_at_once(layout), made)

    def _roles(self, kind: Kind) -> dict[bool, tuple[Kind, ...]]:
        """What a dimension runs if visited last, and if not.

        A hierarchical all-reduce gathers again what it scattered in all dimensions but the last;
        Themis scatters in the last too, and turns decide which that is.
        """
        collectives = self.scenario.collectives
        if kind is not Kind.ALL_REDUCE or collectives.all_reduce_shape == "baseline":
            return dict.fromkeys((False, True), (kind,))
        halves = (Kind.REDUCE_SCATTER, Kind.ALL_GATHER)
        if collectives.inter_dimension in ("themis", "themis_flex"):
            return dict.fromkeys((False, True), halves)
        if collectives.inter_dimension == "round_robin":
            return dict.fromkeys((False, True), (kind, *halves))
        return {False: halves, True: (kind,)}

    def _hands_over_at_once(self, layout: Layout) -> bool:
        # ASTRA-sim's 10 ns in place of the endpoint delay.
        return Quirk.GROUP_HAND_OVER in self.quirks and not layout.spans_all

    def _flat_plan(
        self, kind: Kind, names: tuple[Named, ...], layout: Layout, dimension: int
    ) -> _core.PlanId:
        """A ring of its members."""
        key = (kind, names, layout.size, dimension)
        if key in self._flat:
            return self._flat[key]
        level = self._flat_level(kind, self._names(layout, names)[0], layout, dimension)
        plan = self._add_plan([level], layout, over_members=True)
        if (kind, layout.key) not in self._counters:
            self._flat[key] = plan
        return plan

    def _flat_level(self, kind: Kind, name: Named, layout: Layout, dimension: int) -> _core.Level:
        chosen = self._implementation(name, f"collectives.{kind.value}[0]")
        size = layout.size
        made = self._level_programs(kind, chosen, size, "group", layout.key)
        if kind in made.missing:
            raise UnsupportedError(
                f"{kind.value} over a group of {size} ranks: "
                f"{algorithms.shown(chosen.algorithm)}: {made.missing[kind]}"
            )
        fixed = Quirk.GROUP_HAND_OVER in self.quirks
        return _level(_Place(size, 1, 1, dimension), fixed, made)

    def _level_programs(
        self,
        kind: Kind,
        chosen: Implementation,
        size: int,
        ring_kind: RingKind,
        place: Hashable,
    ) -> _LevelPrograms:
        """Collectives of a kind over the same dimension, or members (offsets `place`), take turns
        with one counter, across communicators.
        """
        made = _LevelPrograms({}, {}, None, {})
        alternating = False
        for needed in self._needed(kind):
            programs = self._program(chosen, needed, size, ring_kind)
            if isinstance(programs, str):
                made.missing[needed] = programs
                continue
            native = native_kind(needed)
            made.programs[native] = programs[0]
            made.alternates[native] = programs[-1]
            alternating |= len(programs) > 1
        if not alternating:
            return made
        if (kind, place) not in self._counters:
            self._counters[kind, place] = self.builder.add_phase_counter()
        return made._replace(counter=self._counters[kind, place])

    def _needed(self, kind: Kind) -> tuple[Kind, ...]:
        roles = self._roles(kind)
        if len(self.scenario.topology.dimensions) == 1:
            return (kind, *(part for part in roles[True] if part is not kind))
        return tuple(dict.fromkeys((kind, *roles[False], *roles[True])))

    def _program(
        self, chosen: Implementation, kind: Kind, n: int, ring_kind: RingKind
    ) -> tuple[_core.ProgramId, ...] | str:
        name = chosen.algorithm if chosen.window is None else f"{chosen.algorithm}{chosen.window}"
        key = (name, kind, n, ring_kind)
        if key not in self._programs:
            self._programs[key] = self._make(name, kind, n, ring_kind)
        return self._programs[key]

    def _make(
        self, name: Named, kind: Kind, n: int, ring_kind: RingKind
    ) -> tuple[_core.ProgramId, ...] | str:
        algorithm = find(name)
        faithful = self.faithful and kind.value in COLLECTIVE_TYPES
        if _is_own(name) and not algorithm.in_astra_sim:
            faithful = False  # nothing to be faithful to
        if algorithm.in_network:
            lack = self._lack_of_switches(n)
            if lack is not None:
                return lack
            algorithm = self._on_switches(algorithm)
        reason = algorithm.supports(kind, n, faithful=faithful)
        if reason is not None:
            return reason
        if self.scenario.collectives.protocol is None:
            made = algorithm.programs(kind, n, faithful=faithful, ring_kind=ring_kind)
        else:
            made = (self._on_the_wire(_lowered(algorithm.schedule(kind, n))),)
        if len(made) > 2:
            return f"{len(made)} programs that take turns; at most two can"
        self._written[name, kind, n, ring_kind] = made[0]
        named = {switch for one in made for switch in getattr(one, "switches", ())}
        lack = self._lack_of_switches(n) if named else None
        if lack is not None:
            return lack
        numbers = self._numbers_of(named, f"collectives.{kind.value}")
        step = self._step_ticks()
        return tuple(add_program(self.builder, program, numbers, step) for program in made)

    def _on_the_wire(self, program: GraphProgram) -> GraphProgram:
        # In the lines of the scenario's protocol.
        protocol = self.scenario.collectives.protocol
        if protocol is None:
            return program
        from yantra.collectives.protocols import on_the_wire

        return on_the_wire(program, protocol.kind)

    def _step_ticks(self) -> int:
        protocol = self.scenario.collectives.protocol
        if protocol is None or "hand_overs" in self.without:
            return 0
        from yantra.collectives.protocols import LINES

        own = LINES[protocol.kind].step_ns
        return round((own if protocol.step_ns is None else protocol.step_ns) * self._ticks_per_ns)

    def _on_switches(self, algorithm: CollectiveAlgorithm) -> CollectiveAlgorithm:
        from yantra.collectives.in_network import InNetwork
        from yantra.fabric.graphs.switches import FabricSwitches

        assert isinstance(algorithm, InNetwork) and self.on_fabric is not None
        if self._switches is None:
            graph, placement = self.on_fabric.graph, self.on_fabric.placement
            self._switches = FabricSwitches(graph, placement.tolist())
        return algorithm.on(self._switches)

    def _lack_of_switches(self, n: int) -> str | None:
        ranks = self.scenario.topology.ranks
        if self.on_fabric is None:
            return "switches take part in it, so it needs cluster.fabric, which has them"
        if n != ranks:
            return f"switches take part in collectives of all {ranks} ranks; this is over {n}"
        return None

    def _numbers_of(self, named: set[str], where: str) -> dict[str, int]:
        if not named:
            return {}
        assert self.on_fabric is not None
        graph = self.on_fabric.graph
        devices = {graph.name_of(at): at for at in range(graph.ranks, graph.devices)}
        for switch in sorted(named):
            if switch not in devices:
                problem = f"no device of the fabric passes bytes on and is called {switch!r}"
                raise ConfigError(where, f"{problem}{did_you_mean(switch, devices)}")
        self.has_switches = True
        return {name: self.builder.add_switch(devices[name]) for name in sorted(named)}

    def _add_custom(self, prefix: str, layout: Layout) -> _core.CustomId:
        place = None if layout.spans_all else layout.key
        if (prefix, place) in self._custom:
            return self._custom[prefix, place]
        size = layout.size
        graphs = [self._custom_graph(f"{prefix}.{at}.et", size) for at in range(size)]
        added = self.builder.add_custom(graphs, not layout.spans_all)
        self._custom[prefix, place] = added
        return added

    def _custom_graph(self, path: str, positions: int) -> _core.Graph:
        try:
            graph = read(files.load(path), path, self.quirks)
        except TraceError as error:
            raise TraceError(
                f"{error} (a custom collective over {positions} ranks needs a trace for each)"
            ) from None
        check(graph, path, self.quirks)
        whole_microseconds = Quirk.WHOLE_MICROSECONDS in self.quirks
        for problem in _core.check_custom(graph, positions, whole_microseconds):
            node = problem.node
            raise TraceError(f"{path}: node {graph.id[node]} '{graph.name(node)}': {problem.text}")
        return graph


def _is_own(name: Named) -> bool:
    # Run under ASTRA-sim's semantics though it does not name it.
    return name == _ROOTED or algorithms.file_of(name) is not None or isinstance(name, type)


@cache  # a dozen per compile
def native_kind(kind: Kind) -> _core.CollectiveKind:
    return _core.CollectiveKind[kind.name]


def _lowered(schedule: Schedule) -> GraphProgram:
    from yantra.collectives.lower import lower

    return lower(schedule)


def _level(place: _Place, fixed_hand_over: bool, made: _LevelPrograms) -> _core.Level:
    return _core.Level(
        size=place.size,
        stride=place.stride,
        index_stride=place.index_stride,
        dimension=place.dimension,
        fixed_hand_over=fixed_hand_over,
        programs=made.programs,
        alternates=made.alternates,
        counter=made.counter,
        coordinates=list(place.coordinates),
    )


def add_program(
    builder: _core.ModelBuilder,
    program: Program,
    switches: Mapping[str, int] | None = None,
    step_ticks: int = 0,
) -> _core.ProgramId:
    """Add a program; return its id. `switches`: numbers of those it names.

    `step_ticks`: hand-over time of received data beyond the endpoint delay.
    """
    result = _share(program.final_num, program.final_den)
    if isinstance(program, ExchangeProgram):
        return builder.add_exchange(
            runs=_runs(program.runs),
            window=program.window,
            sends=program.sends,
            barrier=_core.Barrier(
                at=program.barrier_at,
                receipts=program.n - 1 if program.barrier_at else 0,
                counts_hand_overs=program.barrier_counts == "hand_overs",
            ),
            result=result,
            round_up=program.round_up,
        )
    return builder.add_graph(
        positions=[[_operation(op) for op in ops] for ops in program.ops],
        symmetry=_core.Symmetry[program.symmetry.upper()],
        result=result,
        round_up=program.round_up,
        switches=[(switches or {})[name] for name in program.switches],
        hosts=list(program.hosts),
        step=step_ticks,
    )


@cache  # compiles repeat a few
def _runs(runs: tuple[Run, ...]) -> list[_core.ExchangeRun]:
    return [_run(run) for run in runs]


def _run(run: Run) -> _core.ExchangeRun:
    return _core.ExchangeRun(
        count=run.count,
        out=run.out,
        into=run.into,
        by_xor=run.peer == "xor",
        bytes=_share(run.num, run.den),
        reduce=_share(run.reduce_num, run.reduce_den),
        from_memory=run.side == "nz",
        back=run.back,
    )


def _operation(op: Op) -> _core.Operation:
    return _core.Operation(
        kind=_OPERATIONS[op.kind],
        peer=op.peer,
        bytes=_share(op.num, op.den),
        reduce=_share(op.reduce_num, op.reduce_den),
        dependencies=op.deps,
        from_memory=op.side == "nz",
        back=op.back,
        back_if_last=op.back_if_last,
    )


@cache
def _share(num: int, den: int) -> _core.Share:
    return _core.Share(num, den)
