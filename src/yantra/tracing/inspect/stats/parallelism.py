"""How a job was probably split, by who communicates what, with whom, and when.

Messages between neighbours mean a pipeline, all-to-alls experts, collectives throughout a step
tensors, only late ones replicas, and all-gathers with late reduce-scatters sharded weights.

Sources: Megatron-LM (2019, 2021), ZeRO (2020), GShard (2021).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from itertools import pairwise
from math import prod
from typing import NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import WORLD, Groups, group_key
from yantra.tracing.inspect.paths import issue_order
from yantra.tracing.inspect.stats.steps import Steps

_EARLY, _LATE = 0.3, 0.7  # shares of a step
_SECOND_PART = 0.35  # where a backward pass may begin
_OFTEN = 4  # calls of one size: perhaps one per layer
_REDUCING = {"ALL_REDUCE", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "REDUCE"}
_CONTROL = {"BARRIER", "BROADCAST"}


class ParallelFinding(NamedTuple):
    """A way the work seems split; `ranks` is an example group."""

    split: str
    degree: int | None
    confidence: str
    groups: list[str]
    ranks: tuple[int, ...] | None
    evidence: list[str]


class Parallelism(NamedTuple):
    """What was found; `remarks` speak for or against it."""

    findings: list[ParallelFinding]
    remarks: list[str]


class _Call(NamedTuple):
    what: str
    size: int
    place: float  # share of its step
    step: int


class Use(NamedTuple):
    """What a rank's trace tells: calls by group, of which one rank's suffice, and its messages by
    the rank that they are sent to.
    """

    calls: dict[str, list[_Call]]
    sends: dict[int, int]

    def without(self, groups: Container[str]) -> Use:
        """Without the calls of groups that another rank has told."""
        return Use({name: made for name, made in self.calls.items() if name not in groups},
                   self.sends)  # fmt: skip


def use_of(columns: Columns) -> Use:
    return Use(_calls_of(columns), _sends(columns))


def find_parallelism(by_rank: Mapping[int, Columns], groups: Groups) -> Parallelism:
    """Judge a job's traces; `groups`: members as far as known."""
    known = {id(columns): columns for columns in by_rank.values()}
    uses = {key: use_of(columns) for key, columns in known.items()}
    return parallelism_of({rank: uses[id(columns)] for rank, columns in by_rank.items()}, groups)


def parallelism_of(uses: Mapping[int, Use], groups: Groups) -> Parallelism:
    """As `find_parallelism`, of what the ranks' traces tell."""
    calls: dict[str, list[_Call]] = {}
    for rank in sorted(uses):
        for group, made in uses[rank].calls.items():
            calls.setdefault(group, made)
    findings = [
        _judge(names, members, use)
        for names, members in _families(calls, groups, set(uses))
        for use in _uses(calls[names[0]])
    ]
    findings += _pipelines(uses)
    findings.sort(key=lambda finding: (finding.split, finding.degree or 0))
    return Parallelism(findings, list(_remarks(findings, len(uses))))


def _calls_of(columns: Columns) -> dict[str, list[_Call]]:
    calls: dict[str, list[_Call]] = {}
    if NodeType.COMM_COLL not in columns.type:
        return calls
    order = issue_order(columns)
    steps = Steps(columns, order)
    for at, node in enumerate(order):
        if columns.type[node] == NodeType.COMM_COLL:
            what = collective_name(columns.comm_type[node])
            step, place = steps.of(at)
            call = _Call(what, columns.comm_size[node] or 0, place, step)
            calls.setdefault(columns.group[node], []).append(call)
    return calls


def _uses(made: list[_Call]) -> list[list[_Call]]:
    experts = [call for call in made if call.what == "ALL_TO_ALL"]
    others = [call for call in made if call.what != "ALL_TO_ALL" and call.what not in _CONTROL]
    return [use for use in (experts, others) if use] or [made]


def _families(
    calls: Mapping[str, list[_Call]], groups: Groups, ranks: set[int]
) -> Iterator[tuple[list[str], tuple[int, ...] | None]]:
    families: dict[tuple[str, int, int, frozenset[str]], list[str]] = {}
    for name in sorted(calls, key=group_key):
        members = _members(name, groups, ranks)
        size, stride = (0, 0) if members is None else (len(members), _stride(members))
        what = frozenset(call.what for call in calls[name])
        alone = name if members is None else ""
        if size != 1:
            families.setdefault((alone, size, stride, what), []).append(name)
    for names in families.values():
        yield names, _members(names[0], groups, ranks)


def _members(name: str, groups: Groups, ranks: set[int]) -> tuple[int, ...] | None:
    if name == WORLD:
        return tuple(sorted(ranks)) if len(ranks) > 1 else None
    return groups.get(name)


def _stride(members: tuple[int, ...]) -> int:
    # 0: no constant distance.
    steps = {b - a for a, b in pairwise(members)}
    return steps.pop() if len(steps) == 1 else 0


def _judge(names: list[str], members: tuple[int, ...] | None, made: list[_Call]) -> ParallelFinding:
    split, support = _split_of(made)
    evidence = [*_shape(names, members), *_traffic(made), *support]
    stride = _stride(members) if members else 0
    close = split.startswith("tensor") and stride == 1
    apart = "data" in split and stride > 1
    if close:
        evidence.append("neighbouring ranks, where the fastest links usually are")
    confidence = "unclear" if split == "unclear" else "likely" if len(support) > 1 else "possible"
    if confidence == "possible" and (close or apart):
        confidence = "likely"
    degree = len(members) if members else None
    return ParallelFinding(split, degree, confidence, names, members, evidence)


def _split_of(made: list[_Call]) -> tuple[str, list[str]]:
    what = {call.what for call in made}
    if what <= _CONTROL:
        return "control", ["only broadcasts or barriers"]
    if "ALL_TO_ALL" in what:
        return "expert or embedding", ["all-to-all"]
    first = min(call.place for call in made)
    last = max(call.place for call in made)
    often = max(Counter((call.step, call.what, call.size) for call in made).values())
    reductions = [call.place for call in made if call.what in _REDUCING]
    support = [f"{often} calls of one kind and size, as one per layer makes"] * (often >= _OFTEN)
    gathers = [call.place for call in made if call.what == "ALL_GATHER"]
    if gathers and reductions and min(reductions) > _SECOND_PART > min(gathers):
        late = f"reductions only after {min(reductions):.0%} of the step"
        return "data with sharded weights", [late, "all-gathers before and after", *support]
    if reductions and min(reductions) > _SECOND_PART and not gathers:
        return "data", [f"reductions only after {min(reductions):.0%} of the step", *support]
    if first < _EARLY and last > _LATE and len(made) >= _OFTEN:
        through = f"from {first:.0%} to {last:.0%} of the step"
        return "tensor", [through, *support]
    return "unclear", support


def _shape(names: list[str], members: tuple[int, ...] | None) -> list[str]:
    if members is None:
        return ["who belongs to it is not known from the traces given"]
    stride = _stride(members)
    apart = f"{stride} apart" if stride else "at no constant distance"
    count = "1 group" if len(names) == 1 else f"{len(names)} groups"
    return [f"{count} of {len(members)} ranks {apart}"]


def _traffic(made: list[_Call]) -> list[str]:
    from yantra.base.units import format_size

    counts = Counter(call.what for call in made)
    sums: Counter[str] = Counter()
    for call in made:
        sums[call.what] += call.size
    return [
        f"{count} {what} of {format_size(sums[what])} in all per rank"
        for what, count in counts.most_common()
    ]


def _sends(columns: Columns) -> dict[int, int]:
    if NodeType.COMM_SEND not in columns.type:
        return {}
    ends = zip(columns.type, columns.integers("comm_dst"), strict=True)
    return Counter(peer for type, peer in ends if type == NodeType.COMM_SEND and peer is not None)


def _pipelines(uses: Mapping[int, Use]) -> list[ParallelFinding]:
    links: dict[int, set[int]] = {}
    messages = 0
    for rank, use in uses.items():
        for peer, number in use.sends.items():
            if peer != rank:
                links.setdefault(rank, set()).add(peer)
                links.setdefault(peer, set()).add(rank)
                messages += number
    chains = _components(links)
    if not chains:
        return []
    sizes = {len(chain) for chain in chains}
    most = max(len(peers) for peers in links.values())
    example = tuple(chains[0])
    evidence = [f"{messages} messages; a rank exchanges them with at most {most} others"]
    if most > 2 and len(example) > 3:
        return [ParallelFinding("unclear (messages)", None, "unclear", [], example, evidence)]
    many = "chain" if len(chains) == 1 else "chains"
    evidence.append(f"{len(chains)} {many} of {'/'.join(map(str, sorted(sizes)))} ranks")
    degree = sizes.pop() if len(sizes) == 1 else None
    return [ParallelFinding("pipeline", degree, "likely", [], example, evidence)]


def _components(links: Mapping[int, set[int]]) -> list[list[int]]:
    left = dict.fromkeys(sorted(links))
    found = []
    while left:
        todo = [next(iter(left))]
        component = []
        while todo:
            rank = todo.pop()
            if rank in left:
                del left[rank]
                component.append(rank)
                todo += links[rank]
        found.append(sorted(component))
    return found


def _remarks(findings: list[ParallelFinding], ranks: int) -> Iterator[str]:
    if ranks == 1:
        yield "only one rank's trace was given; degrees need those of the others"
        return
    degrees = [
        finding.degree
        for finding in findings
        if finding.degree and finding.split.split()[0] in ("tensor", "data", "pipeline")
    ]
    if len(degrees) > 1 or (degrees and degrees[0] != ranks):
        product = " x ".join(map(str, degrees))
        agrees = "the" if prod(degrees) == ranks else "not the"
        yield f"{product} = {prod(degrees)}, {agrees} number of ranks ({ranks})"
