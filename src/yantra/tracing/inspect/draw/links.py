"""A trace's edges, also those to missing nodes, and cutting out a part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, TraceError, expected_got
from yantra.tracing.inspect.columns import Columns

_RANGE = re.compile(r"\s*([0-9]{1,20})\s*(?:-\s*([0-9]{1,20}))?\s*")


class Link(NamedTuple):
    """`target` waits for `source`, by node index."""

    source: int
    target: int
    control: bool


class Links:
    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.missing: list[int] = []
        index = {id: node for node, id in enumerate(columns.id)}
        native = columns.native
        found: dict[Link, None] = {}
        ids = native.id if isinstance(native, _core.Trace) else columns.id
        for record, id in enumerate(ids.tolist()):
            target = index[id]
            for control, parents in (
                (False, native.data_deps(record)),
                (True, native.ctrl_deps(record)),
            ):
                for parent in parents:
                    if parent not in index:
                        index[parent] = self.columns.count + len(self.missing)
                        self.missing.append(parent)
                    found[Link(index[parent], target, control)] = None
        self.edges = list(found)

    @property
    def count(self) -> int:
        return self.columns.count + len(self.missing)

    def id_of(self, node: int) -> int:
        known = self.columns.count
        return self.columns.id[node] if node < known else self.missing[node - known]

    def name_of(self, node: int) -> str:
        return self.columns.name(node) if node < self.columns.count else "missing"


class Cut(NamedTuple):
    """The part to draw; all None: everything.

    `ids`: "3,100-199". `around`: a node id, with all at most `hops` edges away.
    """

    ids: str | None = None
    around: int | None = None
    hops: int = 2


def cut(links: Links, part: Cut) -> list[int]:
    chosen = list(range(links.count))
    if part.ids is not None:
        spans = _spans(part.ids)
        chosen = [
            node
            for node in range(links.columns.count)
            if any(low <= links.id_of(node) <= high for low, high in spans)
        ]
        if not chosen:
            raise ConfigError("--nodes", f"the trace has no node {part.ids}; {_ids(links)}")
    if part.around is not None:
        near = _near(links, part.around, part.hops)
        chosen = [node for node in chosen if node in near]
    return chosen


def _spans(text: str) -> list[tuple[int, int]]:
    spans = []
    for piece in text.split(","):
        match = _RANGE.fullmatch(piece)
        if match is None:
            raise ConfigError("--nodes", expected_got("ids such as 7, 100-199 or 7,100-199", text))
        low = int(match[1])
        spans.append((low, int(match[2]) if match[2] else low))
    return spans


def _near(links: Links, id: int, hops: int) -> set[int]:
    ids = [links.id_of(node) for node in range(links.count)]
    if id not in ids:
        raise ConfigError("--around", f"the trace has no node {id}; {_ids(links)}")
    beside: dict[int, list[int]] = {}
    for source, target, _ in links.edges:
        beside.setdefault(source, []).append(target)
        beside.setdefault(target, []).append(source)
    reached = {ids.index(id)}
    edge: Iterable[int] = reached
    for _ in range(hops):
        edge = {after for node in edge for after in beside.get(node, ())} - reached
        reached |= edge
    return reached


def _ids(links: Links) -> str:
    if not links.columns.count:
        raise TraceError("the trace has no nodes to draw")
    return f"its ids are {links.columns.id[0]} to {links.columns.id[-1]}"
