"""Hides what the traces of a job reveal about its model, at a level from 1 to 4.

Each level does what those below it do: (1) `strip` names, (2) `renumber`, (3) `quantise`, (4)
`coarsen`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from yantra.base.errors import ConfigError, TraceError, expected_got
from yantra.base.whole_numbers import whole
from yantra.chakra.schema import Attribute, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import WORLD, Groups, group_key
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats.job import communicators
from yantra.tracing.obfuscate.coarsen import coarsened
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.leaks import Leak, find_leaks
from yantra.tracing.obfuscate.quantise import Sizes, quantise
from yantra.tracing.obfuscate.renumber import Numbers, renumber, with_new_ids
from yantra.tracing.obfuscate.strip import process_groups_of, strip

__all__ = ["LEVELS", "Obfuscated", "obfuscate"]

LEVELS = (1, 2, 3, 4)
MARK = "obfuscation_level"
ORDER = "complete_order"
"""Metadata of a recording: its dependencies are the whole order."""
_MESSAGES = (NodeType.COMM_SEND, NodeType.COMM_RECV)


class Obfuscated(NamedTuple):
    """The obfuscated job. Equal ranks share traces, unless noise or sizes differ.

    `originals`, `old_groups`: the job before, as mended (`remarks`); `groups`: members by new
    names.
    """

    traces: dict[int, Trace]
    groups: Groups
    originals: dict[int, Trace]
    old_groups: Groups
    leaks: list[Leak]
    remarks: list[str]


def obfuscate(
    job: Sequence[RankTrace],
    *,
    level: int,
    key: bytes,
    groups: Groups | None = None,
    epsilon: float | None = None,
) -> Obfuscated:
    """Obfuscate a job; given traces do not change.

    `groups`: members the traces do not list. `epsilon`: noise on durations at levels 3 and 4.
    Raises ConfigError for a wrong option, TraceError for duplicate ids or a cycle, which could not
    be checked afterwards.
    """
    _check_options(level, epsilon)
    keyed = Keyed(key)
    remarks: list[str] = []
    mended = {id(trace): _mended(path, trace, remarks) for _, path, trace in job}
    originals = {rank: mended[id(trace)] for rank, _, trace in job}
    columns = {id(trace): Columns(trace) for trace in mended.values()}
    by_rank = {rank: columns[id(trace)] for rank, trace in originals.items()}
    nodes = {key: list(of.trace) for key, of in columns.items()}
    members = communicators(by_rank, groups)
    new_names = _group_names(nodes.values(), members, keyed if level >= 2 else None)
    _strip_and_renumber(nodes, columns, new_names, keyed if level >= 2 else None)
    ranks = {rank: id(trace) for rank, trace in originals.items()}
    kept = {key: _order_of(of.trace) for key, of in columns.items()}
    if level >= 3:
        hidden = _quantised(nodes, ranks, keyed, epsilon, kept, coarse=level >= 4)
    else:
        made = {key: _trace(of, level, kept[key]) for key, of in nodes.items()}
        hidden = {rank: made[key] for rank, key in ranks.items()}
    known = {id(trace): Columns(trace) for trace in hidden.values()}
    after = {rank: known[id(trace)] for rank, trace in hidden.items()}
    renamed = {new_names(name): ranks for name, ranks in members.items()}
    ordered = {name: renamed[name] for name in sorted(renamed, key=group_key)}
    leaks = find_leaks(by_rank, after, ordered, level)
    return Obfuscated(hidden, ordered, originals, members, leaks, remarks)


def _check_options(level: int, epsilon: float | None) -> None:
    if level not in LEVELS:
        raise ConfigError("level", expected_got("1, 2, 3 or 4", level))
    if epsilon is None:
        return
    if level < 3:
        raise ConfigError("epsilon", f"is for levels 3 and 4, which quantise; got level {level}")
    if not (isfinite(epsilon) and epsilon > 0):
        raise ConfigError("epsilon", expected_got("a number above 0", epsilon))


def _mended(path: str, trace: Trace, remarks: list[str]) -> Trace:
    codes = set()
    for finding in trace.graph().diagnostics:
        codes.add(finding.code)
        if finding.code in ("duplicate-id", "cycle"):
            raise TraceError(
                f"{path}: node {finding.node_id}: {finding.text}; mend it before you obfuscate it"
            )
    if "dangling-dependency" not in codes:
        return trace
    known = set(trace.native.id)
    nodes = list(trace)
    dropped = 0
    for node in nodes:
        for deps in (node.data_deps, node.ctrl_deps):
            kept = [id for id in deps if id in known]
            dropped += len(deps) - len(kept)
            deps[:] = kept
    remarks.append(f"{path}: {dropped} dependencies on nodes that the trace lacks were dropped")
    return Trace(nodes, trace.metadata)


class _GroupNames:
    def __init__(self, new: Mapping[str, str]) -> None:
        self.new = new

    def __call__(self, name: str) -> str:
        return name if name in ("", WORLD) else self.new[name]


def _group_names(ranks: Iterable[list[Node]], members: Groups, keyed: Keyed | None) -> _GroupNames:
    names = set(members)
    for nodes in ranks:
        for node in nodes:
            value = node.get("pg_name")
            names |= {value} if isinstance(value, str) else set()
            names |= {group.name for group in process_groups_of(node)}
    names -= {"", WORLD}
    if keyed is not None:
        numbers = keyed.permuted("group", names, first=1)
        return _GroupNames({name: str(number) for name, number in numbers.items()})
    kept = {name for name in names if whole(name)}
    free = (str(n) for n in range(1, 2 * len(names) + 1) if str(n) not in kept)
    return _GroupNames({name: name if name in kept else next(free) for name in sorted(names)})


def _strip_and_renumber(
    nodes: Mapping[int, list[Node]],
    columns: Mapping[int, Columns],
    names: _GroupNames,
    keyed: Keyed | None,
) -> None:
    starts = [start for one in columns.values() for start in one.start if start]
    exact = [
        extra.start_ns
        for one in columns.values()
        for extra in one.extra
        if extra.start_ns is not None
    ]
    shift = min(starts, default=0), min(exact, default=0)
    for of in nodes.values():
        strip(of, names, shift)
    if keyed is not None:
        numbers = Numbers(keyed, nodes.values())
        for of in nodes.values():
            renumber(of, numbers)


def _quantised(
    nodes: Mapping[int, list[Node]],
    ranks: Mapping[int, int],
    keyed: Keyed,
    epsilon: float | None,
    kept: Mapping[int, list[Attribute]],
    *,
    coarse: bool,
) -> dict[int, Trace]:
    sizes = Sizes({rank: nodes[key] for rank, key in ranks.items()})
    numbers = Numbers(keyed, [])
    hidden: dict[int, Trace] = {}
    made: dict[tuple[int, int], Trace] = {}
    for rank, key in ranks.items():
        exchanges = any(node.type in _MESSAGES for node in nodes[key])
        which = key, rank if exchanges else -1
        if which not in made:
            own = [_copied(node) for node in nodes[key]]
            quantise(own, rank, sizes, keyed, epsilon)
            if coarse:
                own = coarsened(own)
                with_new_ids(own, numbers.ids(own, "coarse id"))
            made[which] = _trace(own, 4 if coarse else 3, kept[key])
        hidden[rank] = made[which]
    return hidden


def _copied(node: Node) -> Node:
    return Node(
        node.id,
        node.name,
        node.type,
        node.duration_micros,
        node.data_deps,
        node.ctrl_deps,
        node.attributes,
        start_micros=node.start_micros,
        inputs=node.inputs,
        outputs=node.outputs,
    )


def _order_of(trace: Trace) -> list[Attribute]:
    # Without it a run keeps a rank's computations one by one.
    return [one for one in trace.metadata.attributes if one.name == ORDER]


def _trace(nodes: list[Node], level: int, kept: list[Attribute]) -> Trace:
    return Trace(nodes, Metadata("", (Attribute(MARK, level), *kept)))
