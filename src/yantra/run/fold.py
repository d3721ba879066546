"""Folding in words: equal ranks, why others differ, why a run was not folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yantra import _core
from yantra._core import Difference
from yantra.base.errors import UnsupportedError
from yantra.compile import Model
from yantra.result import Result

MOST_WORK = 0.5
"""`auto` folds up to this share of all nodes in representatives, which estimates the folded run's
cost and the loss if given up. Most end folded; a half still pays on average.
"""

_SHOWN = 20
_ORDER = "their order follows the numbers of ranks, so it may differ within a class"
_DIFFERENCES = {
    Difference.GRAPH: (
        "they run different operations (kinds, sizes, durations, tags or dependencies)"
    ),
    Difference.PEERS: "peers that are two ranks for one are the same rank for the other",
    Difference.PLAN: "their collectives{group} run over different dimensions, sizes or algorithms",
    Difference.POSITION: "the algorithm{group} gives every position work of its own",
    Difference.NEIGHBOURS: "their neighbours{group} are of different classes",
    Difference.DISTANCE: "their messages{group} cross different distances of the network",
    Difference.EXCHANGE: "they exchange messages with ranks of different classes",
    Difference.LINKS: "their messages share the links they cross with different messages",
}


def find(model: Model, least_ranks_per_class: int = 2) -> _core.Folding:
    """A model's classes of ranks, or why there are none.

    None below `least_ranks_per_class` ranks on average, unless classes spare enough messages
    (`spares_messages`).
    """
    try:
        return _core.fold(model.native, least_ranks_per_class)
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None


def work(model: Model, folding: _core.Folding) -> float:
    """The representatives' share of all nodes."""
    nodes = [len(model.graphs.of(rank)) for rank in folding.representative]
    whole = sum(size * count for size, count in zip(nodes, folding.count, strict=True))
    return sum(nodes) / whole if whole else 1.0


def taken_over(model: Model, like: Result) -> _core.Folding | None:
    """Another run's classes if surely valid for this model, else None.

    `model` is that of `like` without some causes of time. Ranks of the same graph and device still
    match; ranks of different graphs may have matched by durations alone.
    """
    found = like.folding
    if found is None or model.graphs is not like.model.graphs:
        return None
    if model.follows_links or like.model.follows_links:
        return None
    if model.has_ports != like.model.has_ports:
        return None
    graphs = set(zip(found.class_of, model.graphs.by_rank, strict=True))
    return found if len(graphs) == len(found.representative) else None


def explain(model: Model, folding: _core.Folding, not_folded: str = "") -> list[str]:
    """Classes by name and, for each split, why.

    `not_folded`: what only the run found (`Result.not_folded`).
    """
    lines = []
    if folding.refusal:
        lines.append(f"not folded: {folding.refusal}")
    else:
        classes = _classes(folding)
        head = f"{_count(model.ranks, 'rank')} in {_count(len(classes), 'class')}"
        lines.append(f"not folded, {head}: {not_folded}" if not_folded else f"folded: {head}")
        for at, ranks in enumerate(classes[:_SHOWN]):
            lines.append(f"  class {at}: {_count(len(ranks), 'rank')}: {_ranges(ranks)}")
        lines += _more(len(classes))
    splits = folding.splits
    lines += [f"  {_split(model, split)}" for split in splits[:_SHOWN]]
    lines += _more(len(splits))
    return lines


def tie(model: Model, folding: _core.Folding, found: _core.Tie) -> str:
    """Why the core gave a folded run up."""
    if found.rank_class is None:
        return f"{found.reason}; {_ORDER}"
    rank = folding.representative[found.rank_class]
    graph = model.graphs.of(rank)
    nodes = [node for node in (found.node, found.other_node) if node is not None]
    named = [f"'{graph.name(node)}' ({graph.id[node]})" for node in nodes if node < len(graph)]
    which = f" (nodes {' and '.join(named)})" if named else ""
    return f"on rank {rank} {found.reason}{which}; {_ORDER}"


def _classes(folding: _core.Folding) -> list[list[int]]:
    classes: list[list[int]] = [[] for _ in folding.representative]
    for rank, at in enumerate(folding.class_of):
        classes[at].append(rank)
    return classes


def _split(model: Model, split: _core.Split) -> str:
    group = "" if split.communicator is None else f" of {_group(model, split.communicator)}"
    why = _DIFFERENCES[split.difference].format(group=group)
    return f"rank {split.rank} is not in the class of rank {split.other}: {why}"


def _group(model: Model, communicator: _core.CommunicatorId) -> str:
    if communicator.index == 0:
        return "all ranks"
    group, members = model.groups[communicator.index - 1]
    return f"group {group} ({_ranges(sorted(members))})"


def _count(number: int, what: str) -> str:
    plural = what if number == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number} {plural}"


def _more(number: int) -> list[str]:
    return [f"  and {number - _SHOWN} more"] if number > _SHOWN else []


def _ranges(ranks: Sequence[int]) -> str:
    # 0-7, 16-23, ...
    parts = list(_runs(ranks))
    shown = [f"{first}-{last}" if last > first else f"{first}" for first, last in parts[:4]]
    return ", ".join(shown) + (", ..." if len(parts) > len(shown) else "")


def _runs(ranks: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = ranks[0]
    for rank in ranks[1:]:
        if rank != last + 1:
            yield first, last
            first = rank
        last = rank
    yield first, last
