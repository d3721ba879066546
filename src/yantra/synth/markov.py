"""The baseline: a job whose nodes follow each other as often as in one it was made of.

One template for all ranks, each node after the last, sizes drawn from those of its class.
Trade-off: it has no pipeline, as messages of a chain would not meet.
"""

from __future__ import annotations

from collections import defaultdict
from random import Random

from yantra.chakra.schema import Node, NodeType
from yantra.chakra.trace import Trace
from yantra.synth.shapes import kind_of
from yantra.workloads.templates import RankClass, Workload

_MESSAGES = (NodeType.COMM_SEND, NodeType.COMM_RECV)
_KEPT = ("num_ops", "tensor_size", "duration_ns", "comm_type", "comm_size", "pg_name")
State = tuple[str, str]


def markov(real: Workload, random: Random) -> Workload:
    """A job with the groups and the number of nodes of `real`'s first template."""
    first = real.class_of(real.grids[0].first_rank).template
    cut = {name for name, group in real.groups.items() if group.where}
    nodes = [
        node
        for node in real.template(first)
        if node.type not in _MESSAGES and str(node.get("pg_name")) not in cut
    ]
    after: dict[State, list[State]] = defaultdict(list)
    like: dict[State, list[Node]] = defaultdict(list)
    states = [(kind_of(node)[0], str(node.get("pg_name"))) for node in nodes]
    for at, state in enumerate(states):
        like[state].append(nodes[at])
        after[state].append(states[(at + 1) % len(states)])
    state, made = states[0], []
    for number in range(len(nodes)):
        source = random.choice(like[state])
        node = Node(number, source.name, source.type, source.duration_micros, [number - 1][:number])
        node.set("is_cpu_op", False)
        for name in _KEPT:
            value = source.get(name)
            if value is not None:
                node.set(name, value)
        made.append(node)
        state = random.choice(after[state])
    used = {str(node.get("pg_name")) for node in made}
    return Workload(
        grids=real.grids,
        groups={name: group for name, group in real.groups.items() if name in used},
        classes=[RankClass(real.grids[0].name, {}, "all")],
        templates={"all": Trace(made)},
    )
