"""A job drawn by rules: one template a stage, whose pieces and calls are as many as chance says.

Sums, and the work beside calls, are the rules'. Trade-off: latency follows the new calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from random import Random
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.chakra.schema import CollectiveType, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.synth.bodies import Body, Piece
from yantra.synth.passes import BACKWARD, DENSE, END, FORWARD, LATE, START, Call
from yantra.synth.rules import (
    Component,
    at_position,
    is_whole,
    position,
    sizes_of,
    spans,
)
from yantra.synth.settings import Settings, job_features, stage_features
from yantra.workloads import schedules
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Group

FEWEST, MOST = 8, 32
"""Calls of a type in a pass."""

_MOST_PASSES = 1 << 13  # both ways, of all stages
_OCTAVES = 3  # both ways, that sizes of calls spread, or their mean would tell the others' bytes
_LEAST_BYTES = 1 << 19  # of a call, where there is more than one
_PIECES = 32, 128  # of a pass's dense work, in the mean of passes: none shows by its pieces
_MEASURES = ("ns", "ops")  # by which work is cut, or else as `FEWEST`
_SPREAD = 0.05  # the most that a law's error moves what is drawn
_PHASES = {FORWARD: "forward", BACKWARD: "backward", END: "optimizer"}


class Drawing(NamedTuple):
    """What ranks of a group must agree on, and `pieces` of a pass."""

    counts: dict[tuple[str, int], int]
    factors: dict[str, float]
    pieces: int


_NEED, _GIVE, _LATE = range(3)
"""What comes first at a place: a call begins, work waits for one, a call for the update begins."""


class _Event(NamedTuple):
    place: float
    what: int
    number: int
    call: Call
    size: int


Placed = tuple[Call, int, float, float]
"""A call: kind, bytes, places of need and give."""


class Lane(NamedTuple):
    """What a pass does: pieces of work in order, and calls; `cut`: pieces are cut by chance."""

    pieces: list[Piece]
    calls: list[Placed]
    cut: bool


def draw(component: Component, settings: Settings, random: Random) -> Workload:
    """A job of a component at settings."""
    if settings.micro_batches * settings.pp > _MOST_PASSES:
        said = f"micro_batches x pp is {settings.micro_batches * settings.pp}"
        raise ConfigError("--set", f"{said}; at most {_MOST_PASSES} can be drawn")
    drawing = _drawn(component, random)
    plan = settings.plan
    grid = plan.grid()
    orders = schedules.get(settings.schedule).orders(settings.pp, settings.micro_batches, 1)
    groups = {group_name(call): _group(call, settings.pp) for call in component.calls}
    views = {name: grid.view_of(group.axes) for name, group in groups.items() if group.axes}
    groups = {name: groups[name].replace(view=view) for name, view in views.items()}
    templates, classes = {}, []
    for stage in range(settings.pp):
        seed = random.random()
        writer = _Writer(component, settings, stage, drawing, Random(seed))
        templates[f"stage{stage}"] = writer.trace(orders[stage])
        classes.append(RankClass("train", {"pp": stage}, f"stage{stage}"))
    used = {str(node.get("pg_name")) for trace in templates.values() for node in trace}
    about = {"kind": "training", "model": "drawn", "sequence": settings.sequence}
    return Workload(
        grids=[grid],
        groups={name: group for name, group in groups.items() if name in used},
        classes=classes,
        templates=templates,
        sections={"about": about | {"layers": settings.layers, "plan": dict(vars(plan))}},
    )


def group_name(call: Call) -> str:
    """How templates name a call's group."""
    return call.axes.replace("ends:", "ends_").replace("+", "_")


def _group(call: Call, pp: int) -> Group:
    ends = {"pp": ((0, pp - 1),)} if call.axes.startswith("ends:") else {}
    return Group("dense", call.axes.removeprefix("ends:").split("+"), ends)


def _drawn(component: Component, random: Random) -> Drawing:
    kinds = dict.fromkeys((call.when, call.type) for call in component.calls)
    counts = {kind: _number(random, FEWEST, MOST) for kind in kinds}
    laws = {**component.work, **{c.word: law.size for c, law in component.calls.items()}}
    factors = {
        name: 1 + min(law.left, _SPREAD) * min(max(random.gauss(0, 1), -2), 2)
        for name, law in laws.items()
    }
    return Drawing(counts, factors, _number(random, *_PIECES))


def _number(random: Random, fewest: int, most: int) -> int:
    return int(fewest * (most / fewest) ** random.random())


class _Writer:
    def __init__(
        self, component: Component, settings: Settings, stage: int, drawing: Drawing, random: Random
    ) -> None:
        self.component = component
        self.settings = settings
        self.stage = stage
        self.drawing = drawing
        self.random = random
        self.features = stage_features(settings, stage, settings.stages)
        self.where = position(stage, settings.pp)
        self.nodes: list[Node] = []
        self.last: list[int] = []  # what the next computation waits for
        self.sizes = sizes_of(settings)
        self.light: list[Node] = []
        self.lanes = {kind: self._lane(kind) for kind in (FORWARD, BACKWARD, END)}
        self.piece = {
            name: sum(piece.amounts[name] for way in (FORWARD, BACKWARD) for piece in
                      self.lanes[way].pieces) / 2 / drawing.pieces
            for name in _MEASURES
        }  # fmt: skip
        self.waiting: list[int] = []  # of calls for the update

    def trace(self, order: tuple[schedules.schedule.Action, ...]) -> Trace:
        steps = [step for action in order for step in action.steps]
        batches = self.settings.micro_batches
        start, late = self._once(START), self._once(LATE)
        for step in steps:
            kind = FORWARD if step.kind == "F" else BACKWARD
            lane = self.lanes[kind]
            calls = list(lane.calls)
            if kind == FORWARD and step.microbatch == 0:
                calls += start
            if kind == BACKWARD and step.microbatch == batches - 1:
                calls += late
            self._pass(kind, step.microbatch, lane._replace(calls=calls))
        self.last += self.waiting
        self._pass(END, None, self.lanes[END])
        self._hide_light()
        return Trace(self.nodes)

    def _hide_light(self) -> None:
        """Operations of memory-bound work, which take no time, are drawn, alike for all."""
        light = {node.id for node in self.light}
        dense = [
            int(str(node.get("num_ops")))
            for node in self.nodes
            if node.type == NodeType.COMP and node.id not in light
        ]
        usual = sum(dense) / max(len(dense), 1)
        for node in self.light:
            most = int(str(node.get("tensor_size"))) * DENSE / 2
            node.set("num_ops", max(int(min(usual * 2 ** -self.random.uniform(10, 16), most)), 1))

    def _lane(self, kind: str) -> Lane:
        amounts = self.component.amounts(kind, self.features, self.drawing.factors)
        calls = list(self._calls(kind))
        if kind == END:
            calls.sort(key=lambda one: self._after(one[0]))
        motifs = self.component.grammar.get(kind)
        if motifs:
            made = Body(motifs, self.features, amounts, self.random)
            return Lane(made.pieces, calls if kind == END else self._by_motifs(made, calls), False)
        return Lane([Piece(0.0, 1.0, amounts)], calls, True)

    def _by_motifs(self, made: Body, calls: list[Placed]) -> list[Placed]:
        """The calls of a pass where motifs have them, the others where they were."""
        kinds: dict[Call, list[Placed]] = {}
        for one in calls:
            kinds.setdefault(one[0], []).append(one)
        found = []
        for call, some in kinds.items():
            places = made.calls.get(call.word)
            if is_whole(call) or not places:
                found += some
                continue
            size, beside = sum(one[1] for one in some), sum(one[3] - one[2] for one in some)
            for need, part in places:
                give = min(need + beside * part, 1.0)
                found.append((call, max(round(size * part), 1), need, give))
        return found

    def _amount(self, call: Call) -> tuple[int, float]:
        """Number and bytes of a call's kind in a pass: groups share a number, by bytes."""
        size = self._size(call)
        if call.when == END or is_whole(call):
            features = job_features(self.settings) if is_whole(call) else self.features
            return max(round(self.component.calls[call].calls.at(features)), 1), size
        kind = call.when, call.type
        alike = [one for one in self.component.calls if (one.when, one.type) == kind]
        every = sum(self._size(one) for one in alike if self._is_here(one)) or 1.0
        made = round(self.drawing.counts[kind] * size / every)
        return max(min(made, int(size / _LEAST_BYTES)), 1), size

    def _size(self, call: Call) -> float:
        features = job_features(self.settings) if is_whole(call) else self.features
        return self.component.calls[call].size.at(features) * self.drawing.factors[call.word]

    def _is_here(self, call: Call) -> bool:
        if call.axes.startswith("ends:") and self.where not in ("first", "last"):
            return False
        return spans(self.settings, call)

    def _calls(self, kind: str) -> Iterator[Placed]:
        for call, law in self.component.calls.items():
            if call.when != kind or not self._is_here(call):
                continue
            count, size = self._amount(call)
            if size < 1:
                continue
            beside = at_position(law.beside, self.where) if law.beside else 0.0
            if not is_whole(call):
                beside *= max(law.calls.at(self.features), 1.0) / count
            own = size / count
            for at, part in enumerate(self._parts(call, size, count)):
                need = (at + self.random.random()) / count
                if kind == END:
                    need = at_position(law.place, self.where) if law.place else 0.0
                give = need + beside * part / own
                if give > 1:
                    need, give = max(1 - beside * part / own, 0.0), 1.0
                yield call, part, need, give

    def _parts(self, call: Call, size: float, count: int) -> list[int]:
        """Bytes of calls, whose sizes say nothing, but that all stages make them alike."""
        total = max(round(size), count)
        spread = 0 if is_whole(call) else _OCTAVES
        weights = [2 ** self.random.uniform(-spread, spread) for _ in range(count)]
        ends = [round(total * sum(weights[:at]) / sum(weights)) for at in range(count + 1)]
        return [max(end - begin, 1) for begin, end in pairwise(ends)]

    def _after(self, call: Call) -> float:
        return self.component.calls[call].after

    def _once(self, when: str) -> list[Placed]:
        found = []
        for call, law in self.component.calls.items():
            if call.when != when or not self._is_here(call):
                continue
            count, size = self._amount(call)
            if size < 1:
                continue
            mean = at_position(law.place, self.where) if law.place else 0.5
            low, high = (
                (0.0, min(2 * mean, 1.0)) if when == START else (max(2 * mean - 1, 0.0), 1.0)
            )
            for at, part in enumerate(self._parts(call, size, count)):
                share = (at + 1) / count if when == LATE else at / count
                place = low + (high - low) * share if count > 1 else mean
                found.append(
                    (call, part, 0.0, place) if when == START else (call, part, place, 2.0)
                )
        return found

    def _pass(self, kind: str, batch: int | None, lane: Lane) -> None:
        if batch is not None:
            self._receive(kind, batch)
        events = sorted(
            event
            for number, (call, size, need, give) in enumerate(lane.calls)
            for event in (
                _Event(need, _LATE if call.when == LATE else _NEED, number, call, size),
                _Event(give, _GIVE, number, call, size),
            )
        )
        made: dict[int, int] = {}
        at = 0.0
        while events and events[0].place <= 1:
            at = self._event(events.pop(0), at, kind, batch, lane, made)
        self._work(kind, batch, lane, at, 1.0)
        self.waiting += [made[event.number] for event in events]
        if batch is not None:
            self._send(kind, batch)

    def _event(
        self,
        event: _Event,
        at: float,
        kind: str,
        batch: int | None,
        lane: Lane,
        made: dict[int, int],
    ) -> float:
        if event.place > at:
            self._work(kind, batch, lane, at, event.place)
            at = event.place
        if event.what == _GIVE:
            self.last.append(made[event.number])
            return at
        after = [] if event.place <= 0 and event.call.when == START else list(self.last)
        level = self._after(event.call)
        after += [n for other, n in made.items() if self._after(lane.calls[other][0]) < level]
        name = CollectiveType(event.call.type).name.lower()
        node = self._add(name, NodeType.COMM_COLL, after, kind, batch)
        node.set("comm_type", event.call.type)
        node.set("comm_size", event.size)
        node.set("pg_name", group_name(event.call))
        made[event.number] = node.id
        return at

    def _work(self, kind: str, batch: int | None, lane: Lane, begin: float, end: float) -> None:
        for piece in lane.pieces:
            first, last = max(begin, piece.begin), min(end, piece.end)
            if last > first:
                length = piece.end - piece.begin
                part = (first - piece.begin) / length, (last - piece.begin) / length
                for cut in pairwise(self._cut(lane, piece, *part)):
                    self._part(kind, batch, piece.amounts, *cut)

    def _cut(self, lane: Lane, piece: Piece, begin: float, end: float) -> list[float]:
        """Where a part is cut, into pieces that are as large in all passes."""
        if not lane.cut:
            return [begin, end]
        name = next((name for name in _MEASURES if piece.amounts[name] >= 1), "")
        own = self.piece.get(name) or piece.amounts.get(name, 0.0) / FEWEST
        spread = 2 ** self.random.uniform(-0.5, 0.5)
        count = round(piece.amounts[name] * (end - begin) / own * spread) if own else 1
        weights = [2 ** self.random.uniform(-1, 1) for _ in range(max(count, 1))]
        ends = [*accumulate(weights)]
        return [begin, *(begin + (end - begin) * at / ends[-1] for at in ends[:-1]), end]

    def _part(
        self, kind: str, batch: int | None, amounts: Mapping[str, float], begin: float, end: float
    ) -> None:
        took = {name: round(amounts[name] * end) - round(amounts[name] * begin) for name in amounts}
        if took["ns"]:
            node = self._compute(kind, batch, took["ops"], took["bytes"] + took["light"])
            node.set("duration_ns", took["ns"])
            node.duration_micros = round(amounts["ns"] * end / 1e3) - round(
                amounts["ns"] * begin / 1e3
            )
            return
        if took["ops"]:
            hidden = 0.5 + self.random.random() / 2
            self._compute(kind, batch, took["ops"], max(round(took["bytes"] * hidden), 1))
        if took["light"]:
            self.light.append(self._compute(kind, batch, 1, took["light"]))

    def _compute(self, kind: str, batch: int | None, ops: int, moved: int) -> Node:
        node = self._add("compute", NodeType.COMP, self.last, kind, batch)
        node.set("num_ops", max(ops, 1))
        node.set("tensor_size", max(moved, 1))
        self.last = [node.id]
        return node

    def _receive(self, kind: str, batch: int) -> None:
        step = -1 if kind == FORWARD else 1
        if 0 <= self.stage + step < self.settings.pp:
            self.last = [
                *self.last,
                self._message(NodeType.COMM_RECV, "receive", kind, batch, step, []).id,
            ]

    def _send(self, kind: str, batch: int) -> None:
        step = 1 if kind == FORWARD else -1
        if 0 <= self.stage + step < self.settings.pp:
            self._message(NodeType.COMM_SEND, "send", kind, batch, step, self.last)

    def _message(
        self, type: NodeType, name: str, kind: str, batch: int, step: int, after: list[int]
    ) -> Node:
        node = self._add(name, type, after, kind, batch)
        law = self.component.messages.get(kind)
        size = law.at(job_features(self.settings)) if law else 0.0
        node.set("comm_size", max(round(size), 1))
        node.set("comm_tag", 2 * batch + (kind == BACKWARD))
        node.set("comm_peer", f"pp{step:+d}")
        return node

    def _add(
        self, name: str, type: NodeType, after: list[int], kind: str, batch: int | None
    ) -> Node:
        node = Node(len(self.nodes), name, type, 0, sorted(set(after)))
        node.set("is_cpu_op", False)
        node.set("phase", _PHASES[kind])
        if batch is not None:
            node.set("microbatch", batch)
        self.nodes.append(node)
        return node
