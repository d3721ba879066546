"""Keys and values from a prefill grid to a decode grid: who sends what to whom.

A decode rank gets what it keeps.

Sources: Patel et al., "Splitwise", ISCA 2024; Zhong et al., "DistServe", OSDI 2024; vLLM's KV
connectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.operators.graph.operators.sampling import TOKEN_BYTES
from yantra.workloads.operators.operations import Operation
from yantra.workloads.serving.engine import Alone, Engine
from yantra.workloads.serving.kv_cache import LayerCache
from yantra.workloads.serving.lanes import Play, lane_of
from yantra.workloads.serving.passes import Block
from yantra.workloads.serving.timeline import Timeline
from yantra.workloads.templates import Edge


class Place(NamedTuple):
    pp: int
    tp: int = 0
    dp: int = 0


class Message(NamedTuple):
    source: Place
    target: Place
    play: int
    lane: int
    tag: int
    size_bytes: int
    unit: str


class Amount(NamedTuple):
    sequences: int
    parts: tuple[tuple[int, int, int], ...]

    def of(self, cache: LayerCache) -> int:
        if cache.per_sequence:
            return self.sequences
        if cache.window is None:
            return sum(end - first for first, end, _ in self.parts)
        reach = cache.window
        return sum(max(end - max(first, length - reach), 0) for first, end, length in self.parts)


class Transfer:
    """All messages between two engines whose replicas hold `batch` sequences in all."""

    def __init__(self, prefill: Engine, decode: Engine, batch: int, *, layerwise: bool) -> None:
        self.prefill = prefill
        self.decode = decode
        self.batch = batch
        self.layerwise = layerwise
        source, target = prefill.stages.plan, decode.stages.plan
        self.by_tp = source.tp != target.tp
        self.by_dp = source.dp != target.dp
        if source.kv_cache_dtype != target.kv_cache_dtype:
            kinds = f"{source.kv_cache_dtype} and {target.kv_cache_dtype}"
            raise ConfigError("kv_cache_dtype", f"both plans must have the same; got {kinds}")
        self._lengths: dict[int, int] = {}
        for play in prefill.plays:
            for share in play.iteration:
                end = share.past + share.new
                self._lengths[share.sequence] = max(self._lengths.get(share.sequence, 0), end)
        self.messages = tuple(self._messages())

    def places(self, engine: Engine, stage: int) -> list[Place]:
        plan = engine.stages.plan
        tps = range(plan.tp if self.by_tp else 1)
        dps = range(plan.dp if self.by_dp else 1)
        return [Place(stage, tp, dp) for tp in tps for dp in dps]

    def peer(self, grid: str, place: Place) -> str:
        steps = [f"pp={place.pp}"]
        steps += [f"tp={place.tp}"] if self.by_tp else []
        steps += [f"dp={place.dp}"] if self.by_dp else []
        return f"{grid}:{','.join(steps)}"

    @property
    def cache_bytes(self) -> int:
        target = self.decode.stages.plan
        ranks = (1 if self.by_tp else target.tp) * (1 if self.by_dp else target.dp)
        return ranks * sum(one.size_bytes for one in self.messages if one.unit)

    def _messages(self) -> Iterator[Message]:
        plan = self.prefill.stages.plan
        for dp in range(plan.dp if self.by_dp else 1):
            for play in self.prefill.plays:
                amounts = self._amounts(play, dp)
                for (replica, lane), amount in amounts.items():
                    yield from self._cache(play, dp, replica, lane, amount)
                for (replica, lane), amount in amounts.items():
                    if amount.sequences:
                        yield from self._tokens(play, dp, replica, lane, amount.sequences)

    def _amounts(self, play: Play, dp: int) -> dict[tuple[int, int], Amount]:
        here = self.batch // self.prefill.stages.plan.dp
        there = self.batch // self.decode.stages.plan.dp
        found: dict[tuple[int, int], Amount] = {}
        for share in play.iteration:
            replica, number = divmod(dp * here + share.sequence, there)
            key = (replica, lane_of(number, there, self.decode.lanes))
            first, end = share.past, share.past + share.new
            if not self.layerwise:
                first = 0 if share.emits else end
            before = found.setdefault(key, Amount(0, ()))
            part = (first, end, self._lengths[share.sequence])
            found[key] = Amount(before.sequences + share.emits, (*before.parts, part))
        return found

    def _cache(
        self, play: Play, dp: int, replica: int, lane: int, amount: Amount
    ) -> Iterator[Message]:
        stages, target = self.prefill.stages, self.decode.stages
        layers = len(stages.caches)
        for unit, group in self._groups():
            first = group[0]
            tag = (play.number * layers + first) * self.decode.lanes + lane
            source_pp, target_pp = stages.stage_of(first), target.stage_of(first)
            caches = Counter(cache for layer in group for cache in stages.caches[layer])
            for tp, other in self._pairs():
                size = sum(
                    times
                    * amount.of(cache)
                    * cache.head_bytes
                    * self._shared(cache, tp, other, replica)
                    for cache, times in caches.items()
                )
                if size:
                    source = Place(source_pp, tp, dp)
                    goal = Place(target_pp, other, replica)
                    yield Message(source, goal, play.number, lane, tag, size, f"layers.{unit}")

    def _groups(self) -> Iterator[tuple[int, Sequence[int]]]:
        stages, target = self.prefill.stages, self.decode.stages
        if self.layerwise:
            yield from ((layer, (layer,)) for layer in range(len(stages.caches)))
            return
        for first, end in stages.ranges:
            for other, stop in target.ranges:
                both = range(max(first, other), min(end, stop))
                if both:
                    yield end - 1, both

    def _pairs(self) -> Iterable[tuple[int, int]]:
        if not self.by_tp:
            return [(0, 0)]
        source, target = self.prefill.stages.plan.tp, self.decode.stages.plan.tp
        return [(tp, other) for tp in range(source) for other in range(target)]

    def _number(self, other: int, replica: int) -> int:
        # its number among the decode ranks with the same sources
        return other + (replica * self.decode.stages.plan.tp if self.by_dp else 0)

    def _shared(self, cache: LayerCache, tp: int, other: int, replica: int) -> int:
        source, target = self.prefill.stages.plan.tp, self.decode.stages.plan.tp
        copies = cache.copies(source) if self.by_tp else 1
        if self._number(other, replica) % copies != tp % copies:
            return 0
        here, there = cache.heads_of(tp, source), cache.heads_of(other, target)
        return len(range(max(here[0], there[0]), min(here[-1], there[-1]) + 1))

    def _tokens(
        self, play: Play, dp: int, replica: int, lane: int, sequences: int
    ) -> Iterator[Message]:
        source = self.prefill.stages
        layers, lanes = len(source.caches), self.decode.lanes
        plays = 1 + max(one.number for one in self.prefill.plays)
        tag = (plays * layers + play.number) * lanes + lane
        for tp, other in self._pairs():
            if self.by_tp and self._number(other, replica) % source.plan.tp != tp:
                continue
            yield Message(
                Place(self.prefill.last_stage, tp, dp), Place(0, other, replica),
                play.number, lane, tag, TOKEN_BYTES * sequences, "",
            )  # fmt: skip


class Leaving(Alone):
    def __init__(self, transfer: Transfer, place: Place) -> None:
        self._by_play: dict[int, list[tuple[Message, Operation]]] = {}
        for message in transfer.messages:
            if message.source == place:
                operation = _operation("send", transfer.peer("decode", message.target), message)
                self._by_play.setdefault(message.play, []).append((message, operation))

    def after(self, timeline: Timeline, play: Play, block: Block, first: int) -> None:
        found = self._by_play.get(play.number, [])
        timeline.messages(
            [operation for _, operation in found],
            [
                first + (block.after_layer[message.unit] if message.unit else block.last)
                for message, _ in found
            ],
            number=play.number,
        )


class Arriving(Alone):
    def __init__(self, transfer: Transfer, place: Place) -> None:
        self._by_lane: dict[int, list[Operation]] = {}
        for message in transfer.messages:
            if message.target == place:
                operation = _operation("recv", transfer.peer("prefill", message.source), message)
                self._by_lane.setdefault(message.lane, []).append(operation)

    def before(self, timeline: Timeline, play: Play, block: Block) -> list[Edge]:
        operations = self._by_lane.pop(play.lane, [])
        ids = timeline.messages(operations, [None] * len(operations), number=play.number)
        return [(block.first, id, False) for id in ids]


def _operation(kind: str, peer: str, message: Message) -> Operation:
    name = f"{kind} cache of {message.unit}" if message.unit else f"{kind} first tokens"
    return Operation(
        name, kind, "forward", message.unit,
        size_bytes=message.size_bytes, peer=peer, tag=message.tag,
    )  # fmt: skip
