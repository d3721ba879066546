"""Into how many chunks a collective is cut: best by closed form.

With c chunks of S bytes in all, phase i takes a_i + b_i S / c from its first to its last rank and
keeps a rank's queue for u_i + v_i S / c. Queue q is busy c times for its phases, between the first
chunk's earlier and the last chunk's later phases. So a collective takes

    max_q (before_q + c sum_(i in q) (u_i + v_i S / c) + way of a chain in q + after_q)

and at least one chunk's time. A queue may be L lanes, which share the port p_i: a chunk keeps them
for max((u_i + v_i S / c) / L, p_i S / c), and the first ends no sooner than (L + 1) / 2 p_i S / c,
half of the others preceding it on average. On one level of a symmetric algorithm one chunk is best,
as more repeat latencies. Where orders turn from chunk to chunk, the few chunks are played.

Trade-off: other waits for messages (windows, barriers, shared rates) are ignored, so this gives
chunks, not times. Source: the pipelined collectives of Barnett et al. (SHPCC 1994), section 4; for
levels Cho et al., "BlueConnect", MLSys 2019.
"""

from __future__ import annotations

from functools import cache
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives.program import ExchangeProgram, GraphProgram
from yantra.collectives.schedule import Kind, shifted
from yantra.fabric.topologies import topologies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.collectives.program import Program
    from yantra.scenario import Dimension

SYMMETRIC = (1, 2, 4, 8, 16, 32)
"""Chunks where all members do the same: each costs events."""
CHAINED = (*SYMMETRIC, 32, 64, 128, 256)
"""Chunks of what goes from member to member: each adds an overlapping hop."""
_TURNS = (1, 2, 4, 8)
_GAIN = 0.999  # least saving of more chunks or another plan: what laws of runs allow
_LANES_GAIN = 1.05  # chunks sharing a port: each message is an event
_SIZES = tuple(1 << exponent for exponent in range(41))
_NEAR = 1 / 512  # precision of sizes at which the choice changes


class Cost(NamedTuple):
    """A program's cost: messages in sequence, and shares of bytes.

    `steps`, `path`: of the longest way from first to last message; `port`: the most a position
    sends or receives; `link`: the most to one peer, or in messages that wait for each other.
    `wait`: messages in sequence between a position's first and last action in a round: upstream is
    ahead by chunks. `laps`: closings of a neighbour ring on the longest way.
    """

    steps: int
    path: float
    port: float
    link: float
    wait: int
    laps: int = 0


class Way(NamedTuple):
    """A level's crossing: ns to hand-over, ns of hand-over, rate.

    `by_peer`: a link of `bytes_per_ns` per peer. `back_ns`: extra for a message that closes a ring
    along a line.
    """

    latency_ns: float
    delay_ns: float
    bytes_per_ns: float
    by_peer: bool
    back_ns: float = 0.0


class Taken(NamedTuple):
    """Chunks' times in a phase, in ns.

    `first`: the first alone, `fills`: beside those sharing its port. A chunk `keeps` those behind
    waiting; the last takes `way` more.
    """

    first: float
    fills: float
    keeps: float
    way: float


class Phase(NamedTuple):
    """Queue and times, of all ranks and of one: this file's a, b, u, v, with b and v per byte.

    Chunks take `lanes` queues in turn and share a port of `port_per_byte`, by the algorithm's
    design or to overlap latencies (`shares`).
    """

    queue: int
    first_ns: float
    first_per_byte: float
    each_ns: float
    each_per_byte: float
    port_per_byte: float
    lanes: int = 1
    shares: bool = False

    def at(self, size: float, chunks: int) -> Taken:
        """What `chunks` of `size` bytes take."""
        first = self.first_ns + self.first_per_byte * size
        each = self.each_ns + self.each_per_byte * size
        port = self.port_per_byte * size
        if self.lanes == 1:
            return Taken(first, max(first, port), each, first - each)
        lanes = min(self.lanes, chunks)
        keeps = max(each / self.lanes, port)
        return Taken(
            first, max(first, (lanes + 1) / 2 * port), keeps, first - min(each, lanes * keeps)
        )


def counts_of(turns: int, *, chained: bool) -> tuple[int, ...]:
    """Numbers of chunks to choose from, a multiple of the orders."""
    if turns > 1:
        return (1, *(turns * each for each in _TURNS))
    return CHAINED if chained else SYMMETRIC


class Cut(NamedTuple):
    """From so many bytes, a candidate and its chunks."""

    from_bytes: int
    candidate: int
    chunks: int


def crossed(dimension: Dimension, delay_ns: float) -> Way:
    kind = topologies.shown(dimension.kind)
    hops = 2 if kind == "switch" else 1
    latency = hops * dimension.latency_ns + delay_ns
    back = (dimension.size - 2) * dimension.latency_ns if kind == "mesh" else 0.0
    return Way(latency, delay_ns, dimension.bytes_per_ns, kind == "fully_connected", back)


def phase(cost: Cost, way: Way, queue: int, share: float, *, alike: bool) -> Phase:
    busiest = cost.link if way.by_peer else cost.port
    first = cost.steps * way.latency_ns + cost.laps * way.back_ns
    per_byte = share * max(cost.path, busiest) / way.bytes_per_ns
    if alike:
        return Phase(queue, first, per_byte, first, per_byte, share * busiest / way.bytes_per_ns)
    # The next message is under way while a rank sends, not while it waits.
    each = max(way.delay_ns, cost.wait * way.latency_ns)
    port = share * busiest / way.bytes_per_ns
    return Phase(queue, first, per_byte, each, port, port)


def time_ns(orders: Sequence[Sequence[Phase]], size_bytes: float, chunks: int) -> float:
    """The closed form: chunk k takes `orders[k % len(orders)]`."""
    size = size_bytes / chunks
    if len(orders) > 1:
        return _in_turns_ns(orders[:chunks], size, chunks)
    taken = [one.at(size, chunks) for one in orders[0]]
    longest = _in_line_ns(taken, chunks)
    queues = [one.queue for one in orders[0]]
    for queue in {queue for queue in queues if queues.count(queue) > 1}:
        places = [at for at, one in enumerate(queues) if one == queue]
        busy = sum(chunks * taken[at].keeps + taken[at].way for at in places)
        before = sum(one.fills for one in taken[: places[0]])
        after = sum(one.first for one in taken[places[-1] + 1 :])
        longest = max(longest, before + busy + after)
    return longest


def _in_turns_ns(orders: Sequence[Sequence[Phase]], size: float, chunks: int) -> float:
    """Chunks that begin in different queues, served in order of arrival."""
    ways = [
        [(phase.queue, *phase.at(size, len(range(turn, chunks, len(orders))))) for phase in order]
        for turn, order in enumerate(orders)
    ]
    free: dict[int, float] = {}
    longest = 0.0
    coming = [(0.0, chunk, 0) for chunk in range(chunks)]
    while coming:
        ready, chunk, at = heappop(coming)
        way = ways[chunk % len(ways)]
        queue, first, _, keeps, _ = way[at]
        starts = max(ready, free.get(queue, 0.0))
        free[queue] = starts + keeps
        if at + 1 < len(way):
            heappush(coming, (starts + first, chunk, at + 1))
        else:
            longest = max(longest, starts + first)
    return longest


def _in_line_ns(taken: Sequence[Taken], chunks: int) -> float:
    """Each chunk waits only for earlier ones."""
    before, after = 0.0, sum(one.first for one in taken)
    longest = after
    for first, fills, keeps, way in taken:
        after -= first
        longest = max(longest, before + chunks * keeps + way + after)
        before += fills
    return longest


Candidate = tuple[tuple[tuple[Phase, ...], ...], tuple[int, ...]]
"""Phases of a chunk by turn, and numbers of chunks."""

_known: dict[tuple[Candidate, ...], tuple[Cut, ...]] = {}  # compiles repeat themselves
_MOST_KNOWN = 4096


def cuts(candidates: tuple[Candidate, ...]) -> tuple[Cut, ...]:
    """Which candidate runs in how many chunks, by size.

    The first takes fewer unless others gain; more lanes must gain more.
    """
    if candidates not in _known:
        if len(_known) == _MOST_KNOWN:
            _known.clear()
        _known[candidates] = tuple(_cuts(candidates))
    return _known[candidates]


def _cuts(candidates: tuple[Candidate, ...]) -> list[Cut]:
    chooser = _Chooser(candidates)
    every = range(len(chooser.choices))
    best = [(size, chooser.at(size, every)) for size in _SIZES]
    found = [Cut(0, *chooser.choices[best[0][1]])]
    for below, above in pairwise(best):
        found += chooser.changes(below, above)
    return found


class _Chooser:
    """The best choice by size, and its changes."""

    def __init__(self, candidates: tuple[Candidate, ...]) -> None:
        self.choices = [
            (at, chunks) for at, (_, counts) in enumerate(candidates) for chunks in counts
        ]
        self._orders = [orders for orders, _ in candidates]
        self._weights = [_weight(orders) for orders in self._orders]

    def at(self, size: int, among: range) -> int:
        best, least = among[0], float("inf")
        for number in among:
            candidate, chunks = self.choices[number]
            taken = time_ns(self._orders[candidate], float(size), chunks)
            taken *= self._weights[candidate]
            if taken < least * _GAIN:
                best, least = number, taken
        return best

    def changes(self, below: tuple[int, int], above: tuple[int, int]) -> list[Cut]:
        (size, best), (end, last) = below, above
        if best == last:
            return []
        if end - size <= max(1, size * _NEAR):
            return [Cut(end, *self.choices[last])]
        middle = (size + end) // 2
        between = middle, self.at(middle, range(min(best, last), max(best, last) + 1))
        return self.changes(below, between) + self.changes(between, above)


def _weight(orders: Sequence[Sequence[Phase]]) -> float:
    # Where chunks share ports no phase is a single event.
    return _LANES_GAIN if any(one.shares for order in orders for one in order) else 1.0


@cache
def cost_of(program: Program) -> Cost:
    if isinstance(program, ExchangeProgram):
        return _cost_of_exchange(program)
    return _cost_of_graph(program)


def _cost_of_exchange(program: ExchangeProgram) -> Cost:
    left, port = program.sends, 0.0
    by_peer: dict[tuple[str, int], float] = {}
    for run in program.runs:
        times = min(run.count, left)
        left -= times
        sent = times * run.num / run.den
        port += sent
        by_peer[run.peer, run.out] = by_peer.get((run.peer, run.out), 0.0) + sent
    steps = -(-program.sends // program.window)
    path = port if program.window == 1 else port / program.sends * steps
    is_ring = all(run.peer == "add" and abs(run.out) == 1 for run in program.runs)
    laps = -(-steps // program.n) if is_ring else 0
    return Cost(steps, path, port, max(by_peer.values(), default=0.0), steps, laps)


class _Sent(NamedTuple):
    steps: int
    path: float
    depth: int  # messages before it that wait for each other


def _cost_of_graph(program: GraphProgram) -> Cost:
    sent: dict[int, float] = {}
    got: dict[int, float] = {}
    by_peer: dict[tuple[int, int], float] = {}
    for position, op, peer in program.transfers("send"):
        share = op.num / op.den
        sent[position] = sent.get(position, 0.0) + share
        got[peer] = got.get(peer, 0.0) + share
        by_peer[position, peer] = by_peer.get((position, peer), 0.0) + share
    steps, path, wait = _longest(program)
    port = max((*sent.values(), *got.values()), default=0.0)
    link = max((*by_peer.values(), _in_turn(program)), default=0.0)
    return Cost(steps, path, port, link, wait)


def _in_turn(program: GraphProgram) -> float:
    most = 0.0
    for ops in program.ops:
        sent: list[float] = []
        for op in ops:
            before = max((sent[dep] for dep in op.deps), default=0.0)
            sent.append(before + (op.num / op.den if op.kind == "send" else 0.0))
        most = max((most, *sent))
    return most


def _longest(program: GraphProgram) -> tuple[int, float, int]:
    """Messages and shares of the longest way (most bytes, then most messages), and `Cost.wait`.

    A receive waits for its matched send, so positions are revisited until done.
    """
    positions = program.n + len(program.switches)
    done: list[list[_Sent]] = [[] for _ in range(positions)]
    mail: dict[tuple[int, int, int, int], list[_Sent]] = {}
    taken: dict[tuple[int, int, int, int], int] = {}
    ready = list(range(positions))
    blocked: dict[tuple[int, int, int, int], int] = {}
    while ready:
        position = ready.pop()
        written = program.ops[0 if program.symmetry != "none" else position]
        for op in written[len(done[position]) :]:
            awaited = [done[position][dep] for dep in op.deps]
            here = max(awaited, key=_far, default=_Sent(0, 0.0, 0))
            here = here._replace(depth=max((one.depth for one in awaited), default=0))
            peer = shifted(op.peer, position, program.n, program.symmetry)
            if op.kind == "send":
                here = _Sent(here.steps + 1, here.path + op.num / op.den, here.depth)
                key = (position, peer, op.num, op.den)
                mail.setdefault(key, []).append(here)
                if key in blocked:
                    ready.append(blocked.pop(key))
            elif op.kind == "recv":
                key = (peer, position, op.num, op.den)
                at = taken.get(key, 0)
                if at == len(mail.get(key, ())):
                    blocked[key] = position
                    break
                taken[key] = at + 1
                came = mail[key][at]
                depth = max(here.depth, came.depth + 1)
                here = max(here, came, key=_far)._replace(depth=depth)
            done[position].append(here)
    ends = [one for of in done for one in of]
    longest = max(ends, key=_far, default=_Sent(0, 0.0, 0))
    going_round = _in_circles({(src, dst) for src, _, dst in program.transfers("send")})
    theirs = [done[at] for at in going_round if done[at]]
    wait = max((max(one.depth for one in of) - of[0].depth for of in theirs), default=0)
    return max((one.steps for one in ends), default=0), longest.path, wait


def _in_circles(sent: set[tuple[int, int]]) -> set[int]:
    while True:
        both = {src for src, _ in sent} & {dst for _, dst in sent}
        left = {(src, dst) for src, dst in sent if src in both and dst in both}
        if left == sent:
            return both
        sent = left


def _far(one: _Sent) -> tuple[float, int]:
    return one.path, one.steps


def shape_of(program: Program) -> float:
    """A phase's factor on a chunk's data."""
    return program.final_num / program.final_den


def visits(kind: Kind, levels: int, *, hierarchical: bool, turns: int) -> list[tuple[int, Kind]]:
    """Levels a chunk visits, and what it does there.

    From the innermost, or the outermost where data grows or spreads from a root, offset by its
    turn.
    """
    order = list(range(levels))
    if kind in (Kind.ALL_GATHER, Kind.GATHER, Kind.BROADCAST):
        order.reverse()
    order = order[turns:] + order[:turns]
    if kind is not Kind.ALL_REDUCE or not hierarchical:
        return [(level, kind) for level in order]
    *inner, last = order
    return [
        *((level, Kind.REDUCE_SCATTER) for level in inner),
        (last, Kind.ALL_REDUCE),
        *((level, Kind.ALL_GATHER) for level in reversed(inner)),
    ]
