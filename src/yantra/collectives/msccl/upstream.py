"""Upstream's own traces of a program, byte by byte, for comparison and for its visualizer.

Their rules are kept:

* Only s, r and rrc become nodes; every step uses up an id, rrc two.
* Tags are channels. A receive that reduces has `is_rrc`, its reduction no size.
* A dependency on a nop is lost. Where a node waits for another step that has no node, or comes
  after a nop that depends on nothing, upstream stops with an error.

What upstream cannot convert is an UnsupportedError.
"""

from __future__ import annotations

from typing import Literal, NoReturn

from yantra.base.errors import UnsupportedError
from yantra.chakra.schema import Attribute, Kind, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.collectives.msccl.program import Gpu, Program, Step, ThreadBlock
from yantra.collectives.msccl.traces import SCHEMA

Form = Literal["upstream-head", "upstream-sized"]
_HEAD = ("allreduce", "allgather", "alltoall", "reduce_scatter", "reduce", "broadcast")
_SIZED = ("allreduce", "allgather", "alltoall", "reducescatter", "reduce", "broadcast")
_WHOLE_CHUNKS = ("allgather", "reduce")  # the sized form takes a chunk for the whole size
_NODES = {"s": 1, "r": 1, "rrc": 2}


def upstream_traces(program: Program, form: Form, size_bytes: int = 0) -> list[Trace]:
    """Upstream's traces, by GPU; `size_bytes` is for `upstream-sized` only."""
    known = _HEAD if form == "upstream-head" else _SIZED
    if program.collective not in known:
        _refuse(program, form, f"the collective {program.collective}")
    about = Metadata(
        attributes=(
            Attribute("schema", SCHEMA),
            Attribute("input_file", program.text),
            Attribute("collective", program.collective),
        )
    )
    gpus = sorted(program.gpus, key=lambda gpu: gpu.id)
    return [Trace(_Gpu(program, form, gpu, size_bytes).nodes(), about) for gpu in gpus]


def _refuse(program: Program, form: Form, what: str) -> NoReturn:
    raise UnsupportedError(
        f"{program.where}: the converter that --compat {form} imitates does not convert {what}; "
        "leave --compat out"
    )


class _Gpu:
    def __init__(self, program: Program, form: Form, gpu: Gpu, size_bytes: int) -> None:
        self.program = program
        self.form = form
        self.gpu = gpu
        chunks = gpu.input_chunks or gpu.output_chunks
        self.chunks = chunks
        whole = program.collective in _WHOLE_CHUNKS
        self.chunk_bytes = size_bytes if whole or not chunks else size_bytes // chunks
        self.blocks = {block.id: block for block in gpu.blocks}
        self.made: dict[tuple[int, int], list[Node]] = {}

    def nodes(self) -> list[Node]:
        id = 0
        for block in self.gpu.blocks:
            for step in block.steps:
                self._check_offsets(step)
                count = _NODES.get(step.kind, 0)
                if count:
                    self.made[block.id, step.number] = self._make(id, block, step)
                id += max(1, count)
        for block in self.gpu.blocks:
            for step in block.steps:
                self._link(block, step)
        return [node for parts in self.made.values() for node in parts]

    def _check_offsets(self, step: Step) -> None:
        if self.form == "upstream-head" and step.source.offset != step.destination.offset:
            _refuse(self.program, self.form, f"a step whose offsets differ (line {step.line})")

    def _make(self, id: int, block: ThreadBlock, step: Step) -> list[Node]:
        sends = step.kind == "s"
        type = NodeType.COMM_SEND if sends else NodeType.COMM_RECV
        place = f"tb{block.id}_step{step.number}"
        node = Node(id, f"{type.name}_NODE_{place}", type)
        node["comm_type"] = int(type)
        if self.form == "upstream-sized":
            node["comm_size"] = self.chunk_bytes * step.chunks
        node["comm_dst" if sends else "comm_src"] = block.send if sends else block.receive
        node["comm_tag"] = block.channel
        if self.form == "upstream-head":
            self._chunks(node, block, step)
        if step.kind != "rrc":
            return [node]
        reduction = Node(id + 1, f"COMP_NODE_{place}", NodeType.COMP, data_deps=[id])
        if self.form == "upstream-sized":
            size = self.chunk_bytes * step.chunks
            reduction.duration_micros = int(3 * int(size / 50) / 1000)
        return [node, reduction]

    def _chunks(self, node: Node, block: ThreadBlock, step: Step) -> None:
        offset = step.source.offset if step.kind == "s" else step.destination.offset
        dependency = step.dependency or (-1, -1)
        for name, value in (
            ("msg_chunk_cnt", step.chunks),
            ("msg_chunk_idx", step.source.offset),
            ("total_chunk_cnt", self.chunks),
            ("local_time_step", step.number),
            ("chunk_offset", offset),
        ):
            node.set(name, value, Kind.INT32)
        if step.kind == "rrc":
            node["is_rrc"] = True
        for name, value in (
            ("hasdep", int(step.signals)),
            ("deps", dependency[1]),
            ("depid", dependency[0]),
            ("tb_id", block.id),
        ):
            node.set(name, value, Kind.INT32)

    def _link(self, block: ThreadBlock, step: Step) -> None:
        parts = self.made.get((block.id, step.number))
        if parts is None:
            return
        waits = parts[0].data_deps
        if step.dependency is not None:
            id, number = step.dependency
            if self.blocks[id].steps[number].kind != "nop":
                waits.append(self._end(id, number, step))
        for at in range(step.number - 1, -1, -1):
            earlier = block.steps[at]
            if earlier.kind != "nop":
                waits.append(self._end(block.id, at, step))
                return
            if earlier.dependency is None:
                _refuse(self.program, self.form, f"a nop without a dependency ({earlier.line})")
            else:
                waits.append(self._end(*earlier.dependency, step))

    def _end(self, block: int, number: int, step: Step) -> int:
        parts = self.made.get((block, number))
        if parts is None:
            _refuse(
                self.program,
                self.form,
                f"step {step.number} on line {step.line} of GPU {self.gpu.id}, which waits for a "
                f"{self.blocks[block].steps[number].kind}",
            )
        return parts[-1].id
