"""A user's own list of pipeline operations: read, proven, run and drawn."""

from __future__ import annotations

from yantra.base.documents import parse_yaml
from yantra.workloads import schedules
from yantra.workloads.schedules.drawing import draw
from yantra.workloads.schedules.execution import Costs, execute
from yantra.workloads.schedules.listed import Listed, as_text

FORM = "text"


def seeds() -> list[bytes]:
    texts = []
    for name in schedules.schedules.names():
        schedule = schedules.get(name)
        v = 2 if schedule.vpp is None else 1
        texts.append(as_text(schedule.orders(2, 4, v), schedule.stages(2, v), 4))
    texts.append(
        "micro_batches: 1\nchunks: 2\nplacement: [0.1 0.0]\ndevices: [[F0.1, F0, B0, b0.1, W0.1]]\n"
    )
    return [text.encode() for text in texts]


def read(data: bytes) -> object:
    listed = Listed.of_tree(parse_yaml(data.decode("utf-8", "replace"), "list"), "list")
    p, m, v = listed.size
    return draw(execute(listed.orders(p, m, v), listed.stages(p, v), Costs()))
