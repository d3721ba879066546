"""A trace as GraphML: every node and edge.

Nodes have their name as `label`, edges `dependency`: `data` or `control` (also if both, as in
upstream's visualizer). Nodes only named by dependencies have no label.

Source: GraphML 1.0 as written by networkx.
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from yantra.chakra.trace import Trace

_HEAD = (
    "<?xml version='1.0' encoding='utf-8'?>\n"
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns '
    'http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">'
)
_KEY = '<key id="{}" for="{}" attr.name="{}" attr.type="string"/>\n'
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def graphml_text(trace: Trace) -> str:
    native = trace.native
    labels: dict[int, str | None] = {}
    after: dict[int, dict[int, str]] = {}
    for record, id in enumerate(native.id.tolist()):
        labels.setdefault(id, None)
        labels[id] = native.name(record)
        for dependency, parents in (
            ("data", native.data_deps(record)),
            ("control", native.ctrl_deps(record)),
        ):
            for parent in parents:
                labels.setdefault(parent, None)
                after.setdefault(parent, {})[id] = dependency
    keys = _KEY.format("d1", "edge", "dependency") if after else ""
    parts = [_HEAD, keys, _KEY.format("d0", "node", "label"), '<graph edgedefault="directed">']
    parts += [_node(id, label) for id, label in labels.items()]
    parts += [
        f'<edge source="{source}" target="{target}">\n  <data key="d1">{kind}</data>\n</edge>\n'
        for source in labels
        for target, kind in after.get(source, {}).items()
    ]
    return "".join([*parts, "</graph></graphml>"])


def _node(id: int, label: str | None) -> str:
    if label is None:
        return f'<node id="{id}"/>\n'
    text = escape(_NOT_XML.sub("�", label))
    data = f'<data key="d0">{text}</data>' if text else '<data key="d0"/>'
    return f'<node id="{id}">\n  {data}\n</node>\n'
