"""Traces as text: a line per node, or all about one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isfinite
from typing import Any

from yantra.chakra.schema import AnyValue, Attribute, CollectiveType, Kind, Metadata, Node
from yantra.chakra.trace import Trace

_MOST_PARENTS = 4
_LONGEST_NAME = 48
_LONGEST_VALUE = 100
_SHOWN_IN_LINE = {
    *("comm_type", "comm_size", "pg_name", "comm_src", "comm_dst", "comm_tag"),
    *("num_ops", "tensor_size", "involved_dim"),
}


def lines(trace: Trace, where: str, limit: int | None = 40) -> Iterator[str]:
    yield heading(trace, where)
    yield from metadata_lines(trace.metadata)
    shown = len(trace) if limit is None else min(limit, len(trace))
    rows = [_row(trace[position]) for position in range(shown)]
    if rows:
        rows.insert(0, ("id", "type", "us", "name", "waits for", "attributes"))
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        for row in rows:
            yield _aligned(row, widths)
    if shown < len(trace):
        from yantra.base.text import count

        yield f"... {count(len(trace) - shown, 'more node')}"


def heading(trace: Trace, where: str) -> str:
    counts = Counter(str(getattr(node_type, "name", node_type)) for node_type in _types(trace))
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    nodes = "1 node" if len(trace) == 1 else f"{len(trace)} nodes"
    return f"{where}: layout {trace.layout}, {nodes}{': ' + kinds if kinds else ''}"


def metadata_lines(metadata: Metadata) -> Iterator[str]:
    if metadata.version:
        yield f"  version {metadata.version}"
    for item in metadata.attributes:
        yield f"  {_attribute(item)}"


def node_lines(trace: Trace, id: int) -> Iterator[str]:
    node = trace.node(id)
    yield f"node {node.id}: {printable(node.name)}"
    yield f"  type: {_type(node)}"
    if node.start_micros:
        yield f"  start: {node.start_micros} us"
    yield f"  duration: {node.duration_micros} us"
    children = {"data": list[int](), "control": list[int]()}
    native = trace.native
    for record, other in enumerate(native.id):
        for kind, deps in (("data", native.data_deps), ("control", native.ctrl_deps)):
            if id in deps(record):
                children[kind].append(other)
    for kind, parents in (("data", node.data_deps), ("control", node.ctrl_deps)):
        yield f"  waits for ({kind}): {_ids(parents, None) or 'none'}"
    for kind, waiting in children.items():
        yield f"  waited for by ({kind}): {_ids(waiting, None) or 'none'}"
    for side in ("inputs", "outputs"):
        info = getattr(node, side)
        if info is not None:
            for part, text in info._asdict().items():
                yield f"  {side} {part}: {text}"
    for item in node.attributes:
        yield f"  {_attribute(item, None)}"


def as_dict(node: Node) -> dict[str, Any]:
    """Of repeated attributes the first counts; numbers JSON lacks are texts."""
    sides = ((name, getattr(node, name)) for name in ("inputs", "outputs"))
    about = {
        "id": node.id,
        "name": node.name,
        "type": _type(node),
        "start_us": node.start_micros,
        "duration_us": node.duration_micros,
        "data_deps": node.data_deps,
        "ctrl_deps": node.ctrl_deps,
    }
    about |= {name: side._asdict() for name, side in sides if side is not None}
    values = {item.name: _plain(item.value) for item in reversed(node.attributes)}
    return about | {"attributes": dict(reversed(values.items()))}


def _plain(value: AnyValue) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _types(trace: Trace) -> Iterator[object]:
    from yantra.chakra.schema import NodeType

    known = {int(kind): kind.name for kind in NodeType}
    return (known.get(number, f"type {number}") for number in trace.native.type)


def _row(node: Node) -> tuple[str, ...]:
    name = node.name if len(node.name) <= _LONGEST_NAME else node.name[: _LONGEST_NAME - 3] + "..."
    waits = _ids(node.data_deps, _MOST_PARENTS)
    if node.ctrl_deps:
        waits += f"{' ' if waits else ''}ctrl {_ids(node.ctrl_deps, _MOST_PARENTS)}"
    told = " ".join(
        f"{item.name}={_value(item)}" for item in node.attributes if item.name in _SHOWN_IN_LINE
    )
    micros = str(node.duration_micros) if node.duration_micros else ""
    return str(node.id), _type(node), micros, printable(name), waits, told


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    id, type, micros, name, waits, told = row
    cells = (id.rjust(widths[0]), type.ljust(widths[1]), micros.rjust(widths[2]))
    return "  ".join((*cells, name.ljust(widths[3]), waits.ljust(widths[4]), told)).rstrip()


def _ids(ids: list[int], most: int | None) -> str:
    shown = ids if most is None else ids[:most]
    more = f" +{len(ids) - len(shown)}" if len(shown) < len(ids) else ""
    return ",".join(map(str, shown)) + more


def _type(node: Node) -> str:
    return str(getattr(node.type, "name", node.type))


def _attribute(item: Attribute, longest: int | None = _LONGEST_VALUE) -> str:
    doc = f"  # {printable(item.doc)}" if item.doc else ""
    return f"{printable(item.name)} ({item.kind.name.lower()}): {_value(item, longest)}{doc}"


def _value(item: Attribute, longest: int | None = _LONGEST_VALUE) -> str:
    value = item.value
    if item.name == "comm_type" and value in set(CollectiveType):
        return CollectiveType(value).name  # type: ignore[arg-type]
    if item.name == "involved_dim" and item.kind is Kind.BOOL_LIST:
        return "".join("1" if flag else "0" for flag in value)  # type: ignore[union-attr]
    text = printable(value) if isinstance(value, str) else str(value)
    cut = longest is not None and len(text) > longest
    return text[: longest - 3] + "..." if cut and longest is not None else text


def printable(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]
