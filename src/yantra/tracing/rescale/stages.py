"""More or fewer stages of a pipeline: each runs its share of the same layers.

A step of a stage is what comes before, passes of micro-batches forward (F) and backward (B), and
what comes after; passes begin or end with messages to the neighbours. A new first or last stage
runs what the recorded one ran, another what a recorded stage between two ran, all with other
numbers of layers, in the recorded order of passes (1F1B or GPipe) at the new depth.

Sources: Huang et al., GPipe (2019); Narayanan et al., PipeDream (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.chakra import Metadata, Node, NodeType
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.rescale.blocks import (
    FUNCTION,
    LOSS,
    end_of,
    layers_of,
    stretches_of,
    sums_among,
)
from yantra.tracing.rescale.model import parameters_of
from yantra.tracing.rescale.recording import Recording, group_of, value
from yantra.tracing.rescale.repeat import copy_of, ordered, predecessors, repeated, without_stretch
from yantra.tracing.rescale.replicas import about, declare
from yantra.tracing.rescale.sizes import share_out

Pass = tuple[str, int]
"""F or B and a micro-batch; ">" is after all."""

_TAIL = ("chakra::", "c10d::", "gloo:", "wait")


class _Stage(NamedTuple):
    """`before`, `after`: the neighbours' ranks, -1 at the ends."""

    rank: int
    before: int
    after: int


def with_stages(job: Recording, text: str) -> None:
    """Raises UnsupportedError where the recording does not say what a stage would run."""
    _Pipeline(job).change(text)


class _Pipeline:
    def __init__(self, job: Recording) -> None:
        self.job = job
        self.chains = _chains(job)
        self.depth = len(self.chains[0])
        self.width = len(self.chains)

    def change(self, text: str) -> None:
        old = self.depth
        new = value("pp", text, old)
        if new < 2 or (new > 2 and old < 3 and new != old):
            raise self._refused(
                "one stage is not recorded"
                if new < 2
                else "what a stage between two others runs "
                "is not recorded; record at least 3 stages"
            )
        order = self._schedule()
        for chain in self.chains:
            layers = {self._layers(stage) for stage in chain}
            if len(layers) != 1 or (layers.copy().pop() * old) % new:
                raise self._refused(
                    f"stages of {'/'.join(map(str, sorted(layers)))} layers do not divide into "
                    f"{new} equal ones"
                )
            for stage in chain:
                self._resize(stage, layers.copy().pop() * old // new)
        self._seat(new, order)

    def _refused(self, why: str) -> UnsupportedError:
        return UnsupportedError(f"{self.job.where}: pp: {why}")

    def _schedule(self) -> str:
        """The order of passes that every stage keeps."""
        for name in ("1f1b", "gpipe"):
            if all(
                _order(parts, name, self.depth, at) == parts
                for chain in self.chains
                for at, stage in enumerate(chain)
                for parts in [list(passes(self.job.nodes[stage.rank], stage))]
            ):
                return name
        raise self._refused("passes are in the order of neither 1F1B nor GPipe")

    def _layers(self, stage: _Stage) -> int:
        nodes = self.job.nodes[stage.rank]
        parts = passes(nodes, stage)
        found = {
            layers_of([*parts["F", at], *parts["B", at]], self.job.where).depth
            for kind, at in parts
            if kind == "F"
        }
        if len(found) != 1:
            raise self._refused(f"micro-batches of rank {stage.rank} run unequal layers")
        return found.pop()

    def _resize(self, stage: _Stage, layers: int) -> None:
        job, rank = self.job, stage.rank
        nodes = job.nodes[rank]
        sums = job.sums_of_gradients([])
        parameters = parameters_of(nodes, sums, job.where) if sums else []
        total = sum(map(prod, parameters))
        change, elements = layers - self._layers(stage), 0
        batches = [at for kind, at in passes(nodes, stage) if kind == "F"]
        for at in batches:
            for _ in range(abs(change) if change < 0 else 1 if change else 0):
                parts = passes(nodes, stage)
                given = [*parts["F", at], *parts["B", at]]
                last = [*parts[">", 0]] if at == batches[-1] else []
                stretches, elements = stretches_of(given, last, job.where)
                nodes = self._stretched(nodes, stretches, change, sums)
        job.nodes[rank] = nodes
        if sums and change:
            share_out(nodes, sums, 1 + Fraction(change * elements, total))

    def _stretched(
        self, nodes: list[Node], stretches: list[list[Node]], change: int, sums: list[str]
    ) -> list[Node]:
        for stretch in stretches:
            ids = {node.id for node in stretch}
            kept = sums_among(nodes, sums)
            if change > 0:
                nodes = repeated(nodes, ids, change, kept)
            else:
                nodes = without_stretch(nodes, ids - kept)
        return nodes

    def _seat(self, new: int, order: str) -> None:
        job, old, width = self.job, self.depth, self.width
        nodes: dict[int, list[Node]] = {}
        metadata: dict[int, Metadata] = {}
        names, groups = self._groups(new)
        for at in range(new):
            source = 0 if at == 0 else old - 1 if at == new - 1 else min(at, old - 2)
            for place in range(width):
                stage = self.chains[place][source]
                given = [
                    copy_of(one, one.id, list(one.data_deps), list(one.ctrl_deps))
                    for one in job.nodes[stage.rank]
                ]
                parts = passes(given, stage)
                wanted = _order(list(parts), order, new, at)
                if wanted != list(parts):
                    given = _reordered(given, parts, wanted, job.where)
                rank = at * width + place
                step = {stage.before: rank - width, stage.after: rank + width}
                nodes[rank] = [self._node(one, rank, step, names, at) for one in given]
                for node in nodes[rank]:
                    if node.type == NodeType.METADATA:
                        mine = {old: groups[one] for (to, old), one in names.items() if to == at}
                        declare(node, job.groups, mine, tuple(range(new * width)))
                metadata[rank] = about(job.metadata[stage.rank], rank, new * width)
        job.nodes, job.metadata, job.groups = nodes, metadata, groups
        job.find_again()

    def _groups(self, new: int) -> tuple[dict[tuple[int, str], str], Groups]:
        """Names by new stage and old name, and members."""
        job, width, old = self.job, self.width, self.depth
        names: dict[tuple[int, str], str] = {}
        made: Groups = {}
        for name, members in job.groups.items():
            stages = {rank // width for rank in members}
            if list(members) == job.ranks:
                made[name] = tuple(range(new * width))
                names |= {(at, name): name for at in range(new)}
            elif len(stages) > 1:
                raise self._refused(f"the group {name} has ranks of several stages")
            for at in range(new) if len(stages) == 1 else ():
                source = 0 if at == 0 else old - 1 if at == new - 1 else min(at, old - 2)
                if source in stages:
                    ranks = tuple(at * width + rank % width for rank in members)
                    names[at, name] = name if name not in made else _free((*job.groups, *made))
                    made[names[at, name]] = ranks
        return names, made

    def _node(
        self, node: Node, rank: int, step: dict[int, int], names: dict[tuple[int, str], str],
        at: int,
    ) -> Node:  # fmt: skip
        if (at, group_of(node)) in names and node.attribute("pg_name"):
            node.set("pg_name", names[at, group_of(node)])
        mine, other = ("comm_src", "comm_dst")
        if node.type == NodeType.COMM_RECV:
            mine, other = other, mine
        if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            peer = node.attribute(other)
            if peer is not None and isinstance(peer.value, int):
                node.set(other, step[peer.value], peer.kind)
            if (own := node.attribute(mine)) is not None:
                node.set(mine, rank, own.kind)
        return node


def _free(used: Sequence[str]) -> str:
    return str(1 + max([int(name) for name in used if name.isdecimal()] + [0]))


def _chains(job: Recording) -> list[list[_Stage]]:
    """Each pipeline's stages, in order. Raises UnsupportedError where ranks are not blocks."""
    after: dict[int, int] = {}
    for rank in job.ranks:
        firsts = [node for node in job.nodes[rank]
                  if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV)]  # fmt: skip
        peers = [node.get("comm_dst") for node in firsts if node.type == NodeType.COMM_SEND]
        from_ = [node.get("comm_src") for node in firsts if node.type == NodeType.COMM_RECV]
        ahead = [one for one in peers if isinstance(one, int) and one > rank]
        if any(one not in (*peers, None) for one in from_) or len(set(peers)) > 2:
            raise UnsupportedError(f"{job.where}: pp: messages are not those of one pipeline")
        if ahead:
            after[rank] = ahead[0]
    heads = [rank for rank in job.ranks if rank not in after.values()]
    ranks = [[head] for head in heads]
    for chain in ranks:
        while chain[-1] in after:
            chain.append(after[chain[-1]])
    width = len(ranks)
    if not after or any(
        chain != list(range(at, len(job.ranks), width)) for at, chain in enumerate(ranks)
    ):
        raise UnsupportedError(
            f"{job.where}: pp: " + (
                "ranks of a stage are not next to each other" if after else
                "no messages between stages of a pipeline are recorded, so what another number of "
                "stages would do is not determined"
            )
        )  # fmt: skip
    return [
        [
            _Stage(rank, before, after)
            for rank, before, after in zip(chain, [-1, *chain[:-1]], [*chain[1:], -1], strict=True)
        ]
        for chain in ranks
    ]


def passes(nodes: list[Node], stage: _Stage) -> dict[Pass, list[Node]]:
    """A stage's nodes by pass, in the order in which passes begin on the host."""
    host = [node for node in nodes if node.get("is_cpu_op")]
    begins = {host[at].id: part for at, part in _begins(nodes, host, stage) if at < len(host)}
    made: dict[Pass, list[Node]] = {}
    place: dict[int, Pass] = {}
    now: Pass = ("F", 0)
    for node in nodes:
        now = begins.get(node.id, now)
        is_called = not node.get("is_cpu_op") and node.ctrl_deps
        place[node.id] = place.get(node.ctrl_deps[0], now) if is_called else now
        made.setdefault(place[node.id], []).append(node)
    return made


def _begins(nodes: list[Node], host: list[Node], stage: _Stage) -> list[tuple[int, Pass]]:
    """Where passes begin, the first aside, as places of host operators."""
    calls = {
        node.ctrl_deps[0]: node
        for node in nodes
        if node.type in (NodeType.COMM_SEND, NodeType.COMM_RECV) and node.ctrl_deps
    }
    events: list[tuple[int, str, bool]] = []  # place, pass, whether it begins there
    for at, node in enumerate(host):
        if node.id in calls:
            call = calls[node.id]
            is_send = call.type == NodeType.COMM_SEND
            peer = call.get("comm_dst" if is_send else "comm_src")
            events.append((at, "F" if (peer == stage.after) == is_send else "B", not is_send))
        elif stage.after < 0 and node.name == LOSS and not node.get("part"):
            events.append((at, "B", True))
    found: list[tuple[int, Pass]] = []
    count = {"F": 0, "B": 0}
    end = 0
    for place, (at, kind, is_begin) in enumerate(events):
        is_first_forward = stage.before < 0 and kind == "F"
        if is_begin or is_first_forward:
            before = at and is_begin and host[at - 1].name == "aten::empty"
            found.append((end if is_first_forward else at - bool(before), (kind, count[kind])))
            count[kind] += 1
        until = events[place + 1][0] if place + 1 < len(events) else len(host)
        end = _end(host, at, until, stage.before < 0 and kind == "B")
    return [one for one in found if one[1] != ("F", 0)] + [(end, (">", 0))]


def _end(host: list[Node], at: int, until: int, has_functions: bool) -> int:
    """Where a pass ends: after its last function of autograd, or after its message."""
    if has_functions:
        functions = [one for one in range(at, until) if host[one].name.startswith(FUNCTION)]
        return end_of(host, functions[-1]) if functions else until
    at += 1
    while at < until and (host[at].get("part") or host[at].name.startswith(_TAIL)):
        at += 1
    return at


def _order(parts: Sequence[Pass], name: str, depth: int, at: int) -> list[Pass]:
    """The passes of stage `at` of `depth` in the order of a schedule."""
    count = sum(kind == "F" for kind, _ in parts)
    ahead = count if name == "gpipe" else min(depth - 1 - at, count)
    made = [("F", one) for one in range(ahead)]
    for one in range(ahead, count):
        made += [("F", one), ("B", one - ahead)]
    made += [("B", one) for one in range(count - ahead, count)]
    return [*made, (">", 0)]


def _reordered(
    nodes: list[Node], parts: dict[Pass, list[Node]], wanted: list[Pass], where: str
) -> list[Node]:
    """Passes in another order: each follows on the host the one that is now before it."""
    made = [node for part in wanted for node in parts[part]]
    old, new = predecessors(nodes, is_host_alone=True), predecessors(made, is_host_alone=True)
    _hang_on_frames(nodes, parts)
    for node in made:
        if node.id in old and old[node.id] != new.get(node.id):
            left = [one for one in node.data_deps if one != old[node.id]]
            node.data_deps = [*([new[node.id]] if node.id in new else []), *left]
        elif node.id in new and node.id not in old:
            node.data_deps = [new[node.id], *node.data_deps]
    done = ordered(made)
    if len(done) != len(nodes):
        raise UnsupportedError(f"{where}: pp: passes wait for each other in another order")
    return done


def _hang_on_frames(nodes: list[Node], parts: dict[Pass, list[Node]]) -> None:
    """What an unfinished call of another pass seems to hold is held by what holds that call."""
    by_id = {node.id: node for node in nodes}
    of = {node.id: part for part, some in parts.items() for node in some}
    for node in nodes:
        for place, parent in enumerate(node.ctrl_deps):
            while of[parent] != of[node.id] and by_id[parent].name.startswith("c10d::"):
                parent = by_id[parent].ctrl_deps[0]
            node.ctrl_deps[place] = parent
