"""A drawing as DOT for graphviz. Data edges end in an arrow, control edges in a bar."""

from __future__ import annotations

from collections.abc import Iterator

from yantra.tracing.inspect.draw.picture import Box, Edge, Picture

_COLOURS = {
    "cpu": "#dbe9f6",
    "gpu_compute": "#d9f0d3",
    "communication": "#fde0c5",
    "memory": "#e7d8ee",
    "delay": "#eeeeee",
}
_MISSING = "missing"


def dot_text(picture: Picture) -> str:
    return "\n".join([*_lines(picture), ""])


def _lines(picture: Picture) -> Iterator[str]:
    yield "digraph trace {"
    if picture.notes:
        yield f"  graph [label={_quoted('; '.join(picture.notes))}, labelloc=t];"
    yield '  node [shape=box, style=filled, fillcolor="#ffffff", fontname=Helvetica];'
    if picture.lanes:
        lanes: dict[str, list[Box]] = {}
        for box in picture.boxes:
            lanes.setdefault(box.lane, []).append(box)
        for number, (lane, boxes) in enumerate(lanes.items()):
            yield f"  subgraph cluster_{number} {{"
            yield f"    label={_quoted(lane)};"
            yield from (f"  {_box(box)}" for box in boxes)
            yield "  }"
    else:
        yield from map(_box, picture.boxes)
    for edge in picture.edges:
        yield _edge(picture, edge)
    yield "}"


def _box(box: Box) -> str:
    style = ", style=dashed" if box.kind == _MISSING else ""
    colour = _COLOURS.get(box.kind)
    filled = f', fillcolor="{colour}"' if colour else ""
    label = _quoted("\n".join(box.lines))
    return f'  "{box.key}" [id="{box.key}", label={label}{filled}{style}];'


def _edge(picture: Picture, edge: Edge) -> str:
    ends = f'"{picture.boxes[edge.source].key}" -> "{picture.boxes[edge.target].key}"'
    several = f', label="{edge.links}"' if edge.links > 1 else ""
    return f"  {ends} [arrowhead={'tee' if edge.control else 'normal'}{several}];"


def _quoted(text: str) -> str:
    # Lines are centred; control characters have no picture.
    kept = "".join(c if c.isprintable() or c == "\n" else " " for c in text)
    escaped = kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
