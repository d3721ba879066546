"""Collectives of a scenario -> plans of the core: levels, members and programs.

Plans are made only for what the workload uses, so that an algorithm that could not run here does no
harm until a collective needs it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from yantra import _core
from yantra.chakra import files
from yantra.collectives import find
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.names import Implementation, parse_implementation
from yantra.collectives.program import ExchangeProgram, GraphProgram, Program, RingKind
from yantra.collectives.schedule import Kind
from yantra.compile.communicators import Communicators, Form
from yantra.compile.graphs import Graphs, check, read
from yantra.errors import TraceError, UnsupportedError
from yantra.quirks import Quirk
from yantra.scenario import Collectives, Custom, Scenario
from yantra.scenario.types import COLLECTIVE_TYPES

NONE = 0xFFFFFFFF
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
_ROOTED = "binomial_tree"
_OP_KINDS = {"send": 0, "recv": 1, "local": 2}
_SYMMETRIES = {"none": 0, "add": 1, "xor": 2}


class _LevelPrograms(NamedTuple):
    """Programs by kind, those that take turns with them, their counter, and why others lack."""

    programs: list[int]
    alternates: list[int]
    turn: int
    missing: dict[Kind, str]


class Planner:
    """Fills a native model with programs, plans, communicators and custom collectives.

    After `plan`: `offered` is the bit set of kinds that have a plan, `covered[kind]` the dimensions
    the all-rank plan covers, `impossible[kind, dimension, last]` why an algorithm cannot run there
    as the last dimension visited or before it, and `custom_by_node` the custom collectives of
    single nodes.
    """

    def __init__(
        self,
        native: Any,
        scenario: Scenario,
        quirks: frozenset[Quirk],
        communicators: Communicators,
    ) -> None:
        self.native = native
        self.scenario = scenario
        self.quirks = quirks
        self.communicators = communicators
        self.faithful = Quirk.UNEVEN_REDUCTIONS in quirks
        self.offered = 0
        self.covered = [0] * len(KINDS)
        self.impossible: dict[tuple[int, int, bool], str] = {}
        self.custom_by_node: dict[int, int] = {}
        self._programs: dict[tuple[str, Kind, int, RingKind], tuple[int, ...] | str] = {}
        self._custom: dict[tuple[str, Hashable], int] = {}
        self._whole: dict[tuple[Kind, frozenset[int]], int] = {}
        self._turns: dict[tuple[Kind, Hashable], int] = {}

    def plan(self, used: Mapping[int, set[Kind]]) -> None:
        """Make the plans of all communicators; `used` are the kinds they run, by form."""
        for form in self.communicators.forms:
            plans = [NONE] * len(KINDS)
            for kind in sorted(used.get(form.number, ()), key=KINDS.index):
                plan = self._plan(form, kind)
                if plan is not None:
                    plans[KINDS.index(kind)] = plan
                    self.offered |= 1 << KINDS.index(kind)
            _core.set_plans(self.native, form.number, plans)
        for node, prefix in self.scenario.collectives.custom_per_node:
            self.custom_by_node[node] = self._add_custom(prefix, self.communicators.forms[0])

    def kinds_of_graphs(self, graphs: Graphs) -> dict[int, set[Kind]]:
        """Return the kinds that the collectives of graphs run, by form of their communicators."""
        used: dict[int, set[Kind]] = {}
        for index, comm_type in graphs.collectives(self.communicators.find):
            if comm_type < len(_OF_COMM_TYPE):
                form = _core.form_of(self.native, index)
                used.setdefault(form, set()).add(_OF_COMM_TYPE[comm_type])
        return used

    def kinds_of_bits(self, types_of_form: Sequence[int]) -> dict[int, set[Kind]]:
        """Return the same of sets of comm_types, as bits, by form."""
        return {
            form: {kind for at, kind in enumerate(_OF_COMM_TYPE) if types >> at & 1}
            for form, types in enumerate(types_of_form)
        }

    def _plan(self, form: Form, kind: Kind) -> int | None:
        chosen = self._algorithms(kind)
        if chosen is None:
            return None
        if isinstance(chosen, Custom):
            return self._add_plan([], form, custom=self._add_custom(chosen.prefix, form))
        if form.spans_all:
            return self._add_plan(self._grid_levels(kind, chosen, form), form)
        if form.size == 1:
            return self._add_plan([], form)
        if Quirk.GROUP_RING in self.quirks:
            keeps = len(chosen) == 1 or chosen[0] == _ROOTED
            level = self._flat_level(kind, chosen if keeps else ("ring",), form, 0)
            return self._add_plan([level], form, over_members=True)
        if form.whole is not None and len(chosen) == len(self.scenario.topology.dimensions):
            if (kind, form.whole) not in self._whole:
                levels = self._grid_levels(kind, chosen, form, form.whole)
                self._whole[kind, form.whole] = self._add_plan(levels, form)
            return self._whole[kind, form.whole]
        level = self._flat_level(kind, chosen, form, form.lowest)
        return self._add_plan([level], form, over_members=True)

    def _add_plan(
        self,
        levels: list[Any],
        form: Form,
        *,
        over_members: bool = False,
        custom: int | None = None,
    ) -> int:
        masked = shared_load = form.is_world and bool(levels)
        added = self.native.add_plan(levels, over_members, form.size, custom, masked, shared_load)
        return int(added)

    def _algorithms(self, kind: Kind) -> tuple[str, ...] | Custom | None:
        collectives: Collectives = self.scenario.collectives
        if kind.value in collectives.by_type():
            return collectives.by_type()[kind.value]
        if self.scenario.semantics == "astra-sim" and kind is not Kind.BROADCAST:
            return None
        if kind is Kind.BROADCAST and Quirk.BROADCAST_IS_A_TIMER in self.quirks:
            return None
        return (_ROOTED,) * len(self.scenario.topology.dimensions)

    def _grid_levels(
        self, kind: Kind, names: tuple[str, ...], form: Form, only: frozenset[int] | None = None
    ) -> list[Any]:
        levels = []
        stride = index_stride = 1
        for dimension, name in enumerate(names):
            implementation = self._implementation(name, kind, dimension)
            size = self.scenario.topology.dimensions[dimension].size
            over_all = implementation.one
            if over_all:
                size, stride, index_stride = self.scenario.topology.ranks, 1, 1
            if only is None or dimension in only:
                place = (size, stride, index_stride, dimension)
                is_last = None if only is None else dimension == max(only)
                levels.append(self._level(kind, implementation, place, form, is_last))
                index_stride *= size
                self.covered[KINDS.index(kind)] |= 1 << dimension if form.is_world else 0
            if over_all:
                break
            stride *= size
        return levels

    def _implementation(self, name: str, kind: Kind, dimension: int) -> Implementation:
        where = f"collectives.{kind.value}[{dimension}]"
        if self.scenario.semantics == "astra-sim" and name != _ROOTED:
            return parse_implementation(name, where)
        find(name, where)
        return Implementation(name, False, None)

    def _level(
        self,
        kind: Kind,
        chosen: Implementation,
        place: tuple[int, int, int, int],
        form: Form,
        is_last: bool | None,
    ) -> Any:
        """One dimension. `is_last`: its place among those visited; None: the node decides."""
        size, _, _, dimension = place
        made = self._level_programs(kind, chosen, size, "usual", dimension)
        for last, needed in self._roles(kind).items():
            lacking = next((made.missing[part] for part in needed if part in made.missing), None)
            if lacking is None or is_last not in (None, last):
                continue
            reason = f"{kind.value} over dimension {dimension}: {chosen.algorithm}: {lacking}"
            if not form.is_world:
                raise UnsupportedError(reason)
            self.impossible[KINDS.index(kind), dimension, last] = reason
        fixed = self._hands_over_at_once(form)
        return (*place, fixed, made.programs, made.alternates, made.turn)

    def _roles(self, kind: Kind) -> dict[bool, tuple[Kind, ...]]:
        """Return what a dimension must run if it is the last one visited, and if it is not.

        Data that a hierarchical all-reduce scatters in all dimensions but the last is gathered
        there again; Themis scatters it in the last one, too, and turns decide which that is.
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

    def _hands_over_at_once(self, form: Form) -> bool:
        """Whether a communicator takes ASTRA-sim's 10 ns instead of the endpoint delay."""
        return Quirk.GROUP_HAND_OVER in self.quirks and not form.spans_all

    def _flat_level(self, kind: Kind, names: tuple[str, ...], form: Form, dimension: int) -> Any:
        """A group that does not span whole dimensions: one ring of its members.

        It runs the algorithm that all dimensions name, or `ring` where they differ.
        """
        name = names[0] if len(set(names)) == 1 else "ring"
        chosen = self._implementation(name, kind, 0)
        size = form.size
        made = self._level_programs(kind, chosen, size, "group", form.key)
        if kind in made.missing:
            raise UnsupportedError(
                f"{kind.value} over a group of {size} ranks: {chosen.algorithm}: "
                f"{made.missing[kind]}"
            )
        fixed = Quirk.GROUP_HAND_OVER in self.quirks
        return (size, 1, 1, dimension, fixed, made.programs, made.alternates, made.turn)

    def _level_programs(
        self,
        kind: Kind,
        chosen: Implementation,
        size: int,
        ring_kind: RingKind,
        place: Hashable,
    ) -> _LevelPrograms:
        """Make the programs that a kind may need on a level.

        The collectives of one kind over the same dimension, or over the same members (whose offsets
        are `place`), take turns with one counter, also those of different communicators.
        """
        made = _LevelPrograms([NONE] * len(KINDS), [NONE] * len(KINDS), NONE, {})
        alternating = False
        for needed in self._needed(kind):
            programs = self._program(chosen, needed, size, ring_kind)
            if isinstance(programs, str):
                made.missing[needed] = programs
                continue
            made.programs[KINDS.index(needed)] = programs[0]
            made.alternates[KINDS.index(needed)] = programs[-1]
            alternating |= len(programs) > 1
        if not alternating:
            return made
        return made._replace(turn=self._turns.setdefault((kind, place), len(self._turns)))

    def _needed(self, kind: Kind) -> tuple[Kind, ...]:
        roles = self._roles(kind)
        if len(self.scenario.topology.dimensions) == 1:
            return (kind, *(part for part in roles[True] if part is not kind))
        return tuple(dict.fromkeys((kind, *roles[False], *roles[True])))

    def _program(
        self, chosen: Implementation, kind: Kind, n: int, ring_kind: RingKind
    ) -> tuple[int, ...] | str:
        name = chosen.algorithm + ("" if chosen.window is None else str(chosen.window))
        key = (name, kind, n, ring_kind)
        if key not in self._programs:
            self._programs[key] = self._make(find(name), kind, n, ring_kind)
        return self._programs[key]

    def _make(
        self, algorithm: CollectiveAlgorithm, kind: Kind, n: int, ring_kind: RingKind
    ) -> tuple[int, ...] | str:
        faithful = self.faithful and kind.value in COLLECTIVE_TYPES
        reason = algorithm.supports(kind, n, faithful=faithful)
        if reason is not None:
            return reason
        made = algorithm.programs(kind, n, faithful=faithful, ring_kind=ring_kind)
        if len(made) > 2:
            return f"{len(made)} programs that take turns; at most two can"
        return tuple(add_program(self.native, program) for program in made)

    def _add_custom(self, prefix: str, form: Form) -> int:
        """Load a collective given by traces for communicators of a form, one per position."""
        place = None if form.spans_all else form.key
        if (prefix, place) in self._custom:
            return self._custom[prefix, place]
        graphs = [self._custom_graph(f"{prefix}.{at}.et", form.size) for at in range(form.size)]
        added = int(self.native.add_custom(graphs, not form.spans_all))
        self._custom[prefix, place] = added
        return added

    def _custom_graph(self, path: str, positions: int) -> Any:
        try:
            graph = read(files.load(path), path, self.quirks)
        except TraceError as error:
            raise TraceError(
                f"{error} (a custom collective over {positions} ranks needs a trace for each)"
            ) from None
        check(graph, path, self.quirks)
        whole_microseconds = Quirk.WHOLE_MICROSECONDS in self.quirks
        for node, _, text in _core.check_custom(graph, positions, whole_microseconds):
            raise TraceError(f"{path}: node {graph.id[node]} '{graph.name(node)}': {text}")
        return graph


def add_program(native: Any, program: Program) -> int:
    """Put a program into a native model; return its number."""
    result = (program.final_num, program.final_den)
    if isinstance(program, ExchangeProgram):
        runs = [
            (
                run.count,
                run.out,
                run.into,
                run.peer == "xor",
                run.num,
                run.den,
                run.reduce_num,
                run.reduce_den,
                run.side == "nz",
                run.back,
            )
            for run in program.runs
        ]
        receipts = program.n - 1 if program.barrier_at else 0
        return int(
            native.add_exchange(
                runs,
                program.window,
                program.sends,
                program.barrier_at,
                receipts,
                program.barrier_counts == "hand_overs",
                result,
                program.round_up,
            )
        )
    return int(
        native.add_graph(
            [_position(program, at) for at in range(len(program.ops))],
            _SYMMETRIES[program.symmetry],
            result,
            program.round_up,
        )
    )


def _position(program: GraphProgram, at: int) -> list[Any]:
    return [
        (
            _OP_KINDS[op.kind],
            op.peer,
            op.num,
            op.den,
            op.reduce_num,
            op.reduce_den,
            list(op.deps),
            op.side == "nz",
            op.back,
            op.back_if_last,
        )
        for op in program.ops[at]
    ]
