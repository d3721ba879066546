"""Steps to Chakra nodes: names, dependencies and the attributes of the chosen units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from yantra.chakra import Attribute, Metadata, Node, NodeType, Trace
from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.nodes import Step
from yantra.workloads.importers.stg.ordering import order
from yantra.workloads.importers.stg.program import Program
from yantra.workloads.importers.stg.units import StgUnits, YantraUnits

_SCHEMA = Metadata(attributes=(Attribute("schema", "Chakra v0.0.4"),))


def templates(program: Program) -> list[Trace]:
    """One trace per stage, in the order of the stages' ranks.

    The file's order is one that all ranks can follow without deadlock. In units `stg` only data
    decides, as upstream; else a group's collectives wait for each other.
    """
    run = order(program.stages, lambda step: _operations(program, step))
    writer = _Writer(program)
    made = [[writer.node(step) for step in run[stage]] for stage in program.stages]
    if program.settings.units == "yantra":
        for nodes in made:
            _in_turn(nodes)
    return [Trace(nodes, _SCHEMA) for nodes in made]


def _in_turn(nodes: Sequence[Node]) -> None:
    """Ranks of a group are not equally fast, so they would enter what is ready in other orders."""
    last: dict[object, int] = {}
    for node in nodes:
        if node.type == NodeType.COMM_COLL:
            group = node.get("pg_name")
            if group in last and last[group] not in node.data_deps:
                node.ctrl_deps = [last[group]]
            last[group] = node.id


def _operations(program: Program, step: Step) -> int:
    if step.moved is not None:
        return 0
    return int(program.values.exact(operators.output(step.tensor.spec).operations))


class _Writer:
    def __init__(self, program: Program) -> None:
        settings = program.settings
        self._in_yantra = settings.units == "yantra"
        self._units = (
            YantraUnits(program.values, settings.dtype, settings.gradient_dtype)
            if self._in_yantra
            else StgUnits(program.values)
        )
        self._place = {stage: place for place, stage in enumerate(program.stages)}

    def node(self, step: Step) -> Node:
        name, type_, attributes = self._content(step)
        if self._in_yantra:
            attributes += self._position(step)
        node = Node(step.id, name, type_, data_deps=dict.fromkeys(step.after))
        node.attributes = attributes
        return node

    def _content(self, step: Step) -> tuple[str, NodeType, list[Attribute]]:
        if step.moved is None:
            return step.tensor.name, NodeType.COMP, list(self._units.compute(step.tensor))
        attributes = list(self._units.move(step.moved, step))
        if step.collective is not None:
            axis, type_ = step.collective
            attributes.append(_attribute("pg_name", axis))
            name = f"{step.tensor.name}: {type_.name.lower()} over {axis}"
            return name, NodeType.COMM_COLL, attributes
        assert step.peer is not None
        attributes.append(Attribute("comm_tag", step.tag))
        attributes.append(_attribute("comm_peer", f"pp={self._place[step.peer]}"))
        if step.is_send:
            return f"{step.tensor.name}: send", NodeType.COMM_SEND, attributes
        return f"{step.tensor.name}: receive", NodeType.COMM_RECV, attributes

    def _position(self, step: Step) -> list[Attribute]:
        unit = step.tensor.unit
        layer = _attribute("layer", f"layers.{unit}" if isinstance(unit, int) else unit)
        batch = step.tensor.micro_batch
        return [layer] if batch is None else [layer, _attribute("microbatch", batch)]


@cache
def _attribute(name: str, value: str | int) -> Attribute:
    # shared by many nodes
    return Attribute(name, value)
