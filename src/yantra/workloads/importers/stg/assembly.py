"""How modules become a model: parts with prefixes, links between them, repeated layers.

Source: astra-sim/stage@9ec6c02, the passes ReplicateGraph and ConnectGraph.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.records import Record
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import Expression, number
from yantra.workloads.importers.stg.module import Library
from yantra.workloads.importers.stg.parse import parse
from yantra.workloads.importers.stg.tensors import (
    FRONT,
    TAIL,
    Graph,
    Spec,
    Tensor,
    copied,
    substituting,
)
from yantra.workloads.importers.stg.weights import fuse

_MOST_COPIES = 1024

Link = tuple[str, str]
"""(from, to), names of tensors."""


class Part(Record):
    """A module or a block under a name; a `*` in the name is the number of a copy."""

    name: str
    module: str = ""
    block: Block | None = None
    symbols: tuple[tuple[str, str], ...] = ()
    copies: str = ""


class Block(Record):
    """Linked parts; `*` in a link means every copy.

    A link from all copies adds them up, a link to all copies gives each the same. `sums` are
    placeholders for the sum of two tensors.
    """

    parts: tuple[Part, ...]
    links: tuple[Link, ...] = ()
    sums: tuple[tuple[str, str, str], ...] = ()


class Assembly(Record):
    """A model: what precedes the layers, one layer, what follows."""

    front: tuple[Part, ...]
    layer: Block
    tail: tuple[Part, ...]
    links: tuple[Link, ...]
    layer_name: str = "transformer.{}"
    fuses_weights: bool = True
    """Gather a layer's weights, and reduce its gradients, as one flat vector."""
    trains: bool = True
    """Repeat it for micro-batches and update its weights."""
    layers_first: bool = True
    """Write the layers before front and tail, which decides ids."""
    source: str = "model"


class Context(NamedTuple):
    library: Library
    values: Mapping[str, int]
    replacements: Mapping[str, Expression]
    """Symbols replaced in every module, such as Batch by MicroBatch."""


def build(assembly: Assembly, layers: int, context: Context) -> Graph:
    """Raises ConfigError for links that do not fit."""
    respec = substituting(context.replacements)
    block = _block(assembly.layer, context, assembly.source)
    if assembly.fuses_weights and assembly.trains:
        block = fuse(block)
    block = copied(block, str, respec)
    stacked: Graph = []
    for layer in range(layers):
        stacked += _placed(block, assembly.layer_name.format(layer), layer)
    ends: list[Graph] = []
    for unit, parts in ((FRONT, assembly.front), (TAIL, assembly.tail)):
        ends.append([])
        for part in parts:
            graph = copied(_part(part, context, assembly.source), str, respec)
            ends[-1] += _placed(graph, "", unit)
    graph = (
        [*stacked, *ends[0], *ends[1]] if assembly.layers_first else [*ends[0], *ends[1], *stacked]
    )
    by_name = {tensor.name: tensor for tensor in graph}
    for origin, to in _layer_links(assembly, layers):
        _connect(by_name, origin, to, assembly.source)
    return graph


def _layer_links(assembly: Assembly, layers: int) -> list[Link]:
    def named(link: Link, **numbers: int) -> Link:
        ends = []
        for end in link:
            word, _, rest = end.partition(".")
            known = word in numbers
            ends.append(f"{assembly.layer_name.format(numbers[word])}.{rest}" if known else end)
        return ends[0], ends[1]

    links = []
    for link in assembly.links:
        if any(end.startswith(("previous.", "next.")) for end in link):
            links += [named(link, previous=n - 1, next=n) for n in range(1, layers)]
        else:
            links.append(named(link, first=0, last=layers - 1))
    return links


def _placed(graph: Graph, prefix: str, unit: int | str) -> Graph:
    placed = copied(graph, (lambda name: f"{prefix}.{name}") if prefix else str)
    for tensor in placed:
        tensor.unit = unit
    return placed


def _part(part: Part, context: Context, source: str) -> Graph:
    if part.block is not None:
        graph = _block(part.block, context, source)
    else:
        graph = context.library(part.module).graph
    replacements = {old: parse(new) for old, new in part.symbols}
    prefix = f"{part.name}." if part.name else ""
    return copied(graph, lambda name: prefix + name, substituting(replacements))


def _block(block: Block, context: Context, source: str) -> Graph:
    graph: Graph = []
    counts: dict[str, int] = {}
    for part in block.parts:
        one = _part(part, context, source)
        if not part.copies:
            graph += one
            continue
        counts[part.name] = _copies(part, context, source)
        for index in range(counts[part.name]):
            graph += copied(one, partial(_numbered, index=index))
    by_name = {tensor.name: tensor for tensor in graph}
    for origin, to in block.links:
        if "*" in origin:
            copies = range(_count(origin, counts, source))
            ends = [_found(by_name, _numbered(origin, n), source) for n in copies]
            chain = _added_up(ends, to)
            graph += chain
            by_name |= {tensor.name: tensor for tensor in chain}
            _connect(by_name, (chain or ends)[-1].name, to, source)
        else:
            for n in range(_count(to, counts, source) if "*" in to else 1):
                _connect(by_name, origin, _numbered(to, n), source)
    for name, one_name, other_name in block.sums:
        target = _placeholder(by_name, name, source)
        target.x1 = _found(by_name, one_name, source)
        target.x2 = _found(by_name, other_name, source)
        target.spec = target.spec._replace(
            code=operators.ADD, x2_shape=target.spec.x1_shape, x2_hidden=target.spec.x1_hidden
        )
    return graph


def _copies(part: Part, context: Context, source: str) -> int:
    where = f"{source}, {part.name}, copies"
    try:
        count = parse(part.copies).evaluate(context.values)
    except (KeyError, ZeroDivisionError) as error:
        raise ConfigError(where, f"{part.copies} has no value: {error}") from None
    if count.denominator != 1 or not 1 <= count <= _MOST_COPIES:
        expected = f"expected a whole number of copies, 1 to {_MOST_COPIES}"
        raise ConfigError(where, f"{expected}; {part.copies} is {count}")
    return int(count)


def _numbered(name: str, index: int) -> str:
    return name.replace("*", str(index), 1)


def _count(end: str, counts: Mapping[str, int], source: str) -> int:
    for name, count in counts.items():
        if end.startswith(f"{name}."):
            return count
    raise ConfigError(f"{source}, links", f"no part with copies is named as in '{end}'")


def _added_up(ends: list[Tensor], to: str) -> Graph:
    chain: Graph = []
    made = operators.output(ends[0].spec)
    last = ends[0]
    for step, end in enumerate(ends[1:], start=1):
        amount: Expression = number(1 if step == len(ends) - 1 else 0)
        spec = Spec(
            operators.ELEMENTWISE2,
            *(made.shape, made.hidden, made.shape, made.hidden),
            amount=amount,
            where=to,
        )
        last = Tensor(f"{to}_sum{step}", spec, last, end, backward=end.backward)
        chain.append(last)
    return chain


def _connect(by_name: Mapping[str, Tensor], origin: str, to: str, source: str) -> None:
    target = _placeholder(by_name, to, source)
    target.x1 = _found(by_name, origin, source)
    target.spec = target.spec._replace(code=operators.IDENTITY)


def _placeholder(by_name: Mapping[str, Tensor], name: str, source: str) -> Tensor:
    target = _found(by_name, name, source)
    if target.spec.code != operators.PLACEHOLDER or target.trained:
        problem = "expected a placeholder (type T) that nothing else is linked to"
        raise ConfigError(f"{source}, links", f"{name}: {problem}; it is {target.spec.code}")
    return target


def _found(by_name: Mapping[str, Tensor], name: str, source: str) -> Tensor:
    if name not in by_name:
        hint = did_you_mean(name, by_name)
        raise ConfigError(f"{source}, links", f"no tensor is named '{name}'{hint}")
    return by_name[name]
