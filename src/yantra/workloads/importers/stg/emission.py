"""Steps to Chakra nodes: names, dependencies and the attributes of the chosen units.

A collective names its axis, a message the stage at its other end, so that the ranks of a stage have
one template in common.
"""

from __future__ import annotations

from itertools import pairwise

from yantra.chakra import Attribute, Kind, Metadata, Node, NodeType, Trace
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.nodes import Step
from yantra.workloads.importers.stg.ordering import order
from yantra.workloads.importers.stg.program import Program
from yantra.workloads.importers.stg.units import StgUnits, YantraUnits

_SCHEMA = Metadata(attributes=(Attribute("schema", "Chakra v0.0.4"),))


def templates(program: Program, *, ordered: bool) -> list[Trace]:
    """Return one trace per stage, in the order of the stages' ranks.

    With `ordered` the collectives of a rank wait for each other in an order that is the same on
    all ranks of a group; without, only data decides, as upstream.
    """
    run = order(program.stages, lambda step: _operations(program, step))
    after: dict[int, int] = {}
    if ordered:
        for steps in run.values():
            chain = [step.id for step in steps if step.collective is not None]
            after |= {later: earlier for earlier, later in pairwise(chain)}
    writer = _Writer(program, after)
    return [
        Trace([writer.node(step) for step in steps], _SCHEMA) for steps in program.stages.values()
    ]


def _operations(program: Program, step: Step) -> int:
    if step.moved is not None:
        return 0
    return int(program.values.exact(operators.output(step.tensor.spec).operations))


class _Writer:
    """Makes the node of a step."""

    def __init__(self, program: Program, after: dict[int, int]) -> None:
        settings = program.settings
        self._in_yantra = settings.units == "yantra"
        self._units = (
            YantraUnits(program.values, settings.dtype, settings.gradient_dtype)
            if self._in_yantra
            else StgUnits(program.values)
        )
        self._after = after
        self._place = {stage: place for place, stage in enumerate(program.stages)}

    def node(self, step: Step) -> Node:
        name, type_, attributes = self._content(step)
        if self._in_yantra:
            attributes += self._position(step)
        node = Node(step.id, name, type_, data_deps=dict.fromkeys(step.after))
        node.attributes = attributes
        if step.id in self._after:
            node.ctrl_deps.append(self._after[step.id])
        return node

    def _content(self, step: Step) -> tuple[str, NodeType, list[Attribute]]:
        if step.moved is None:
            return step.tensor.name, NodeType.COMP, list(self._units.compute(step.tensor))
        attributes = list(self._units.move(step.moved, step))
        if step.collective is not None:
            axis, type_ = step.collective
            attributes.append(Attribute("pg_name", axis))
            name = f"{step.tensor.name}: {type_.name.lower()} over {axis}"
            return name, NodeType.COMM_COLL, attributes
        assert step.peer is not None
        attributes.append(Attribute("comm_tag", step.tag))
        attributes.append(Attribute("comm_peer", f"pp={self._place[step.peer]}"))
        if step.is_send:
            return f"{step.tensor.name}: send", NodeType.COMM_SEND, attributes
        return f"{step.tensor.name}: receive", NodeType.COMM_RECV, attributes

    def _position(self, step: Step) -> list[Attribute]:
        unit = step.tensor.unit
        layer = Attribute("layer", f"layers.{unit}" if isinstance(unit, int) else unit)
        batch = step.tensor.micro_batch
        return [layer] if batch is None else [layer, Attribute("microbatch", batch, Kind.INT64)]
