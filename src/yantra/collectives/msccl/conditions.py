"""What a collective promises: the data before it and after it, chunk by chunk.

A value is a sum of input chunks: ascending pairs (input chunk, GPUs summed, as bits). With n GPUs
and c chunks each:

    collective      before, at GPU g       after, at GPU g
    allreduce       input k = (k, g)       output k = (k, all)
    allgather       input k = (k, g)       output r * c + k = (k, r)
    reducescatter   input k = (k, g)       output k = (g * c + k, all)
    alltoall        input k = (k, g)       output r * c + k = (g * c + k, r)
    broadcast       input k = (k, g)       output k = (k, root)
    reduce          input k = (k, g)       at the root: output k = (k, all)
    alltonext       input k = (k, g)       but at GPU 0: output k = (k, g - 1)
    custom          input k = (k, g)       nothing is known
"""

from __future__ import annotations

from collections.abc import Iterator

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.collectives.msccl.memory import Memory, Spot
from yantra.collectives.msccl.program import Buffer, Gpu, Place, Program

Value = tuple[tuple[int, int], ...]
Values = dict[Spot, Value]

COLLECTIVES = {
    "allreduce": "every GPU holds the sum of all inputs",
    "allgather": "every GPU holds the shards of all",
    "reducescatter": "every GPU holds its shard of the sum of all inputs",
    "alltoall": "every GPU holds its part of the input of each",
    "broadcast": "every GPU holds the input of GPU {root}",
    "reduce": "GPU {root} holds the sum of all inputs",
    "alltonext": "every GPU but the first holds the input of the one before",
    "custom": "",
}
_PER_GPU = frozenset({"allgather", "reducescatter", "alltoall"})
_ROOTED = frozenset({"broadcast", "reduce"})


def collective_of(program: Program, name: str | None = None) -> str:
    """The collective a program performs, by the XML's `coll` or by `name`."""
    given = program.collective if name is None else name
    plain = given.lower().replace("_", "").replace("-", "")
    if plain not in COLLECTIVES:
        where = f"{program.where}:coll" if name is None else "--collective"
        listed = ", ".join(COLLECTIVES)
        hint = did_you_mean(plain, COLLECTIVES)
        raise ConfigError(where, f"{expected_got(f'one of {listed}', given)}{hint}")
    return plain


def data_chunks(program: Program, collective: str) -> int:
    first = program.gpus[0]
    ranks = len(program.gpus)
    if collective == "allgather":
        return first.output_chunks // ranks or first.input_chunks
    most = max(gpu.input_chunks for gpu in program.gpus)
    if most:
        return most
    outputs = max(gpu.output_chunks for gpu in program.gpus)
    return outputs * ranks if collective == "reducescatter" else outputs


def before(program: Program, collective: str, memory: Memory) -> Values:
    _check_sizes(program, collective, memory)
    values: Values = {}
    for gpu in program.gpus:
        for buffer in _inputs(gpu, program, collective):
            for chunk in range(memory.chunks[gpu.id][buffer]):
                spot = memory.spot(gpu.id, Place(buffer, chunk), 0)
                if spot is not None:
                    values[spot] = ((chunk, 1 << gpu.id),)
    return values


def _inputs(gpu: Gpu, program: Program, collective: str) -> tuple[Buffer, ...]:
    unknown = collective == "custom" and program.in_place
    return ("o",) if unknown and not gpu.input_chunks else ("i",)


def root_of(collective: str, values: Values, memory: Memory) -> int | None:
    if collective not in _ROOTED:
        return None
    if collective == "broadcast":
        spots = (memory.spot(gpu, Place("o", 0), 0) for gpu in memory.chunks)
        found = {values.get(spot, ()) for spot in spots if spot is not None}
        masks = [value[0][1] for value in found if len(value) == 1]
        shared = [mask for mask in masks if mask.bit_count() == 1]
        return shared[0].bit_length() - 1 if len(found) == 1 and shared else 0
    full = ((0, (1 << memory.ranks) - 1),)
    for gpu in memory.chunks:
        spot = memory.spot(gpu, Place("o", 0), 0)
        if spot is not None and values.get(spot) == full:
            return gpu
    return 0


def after(collective: str, memory: Memory, root: int | None) -> Iterator[tuple[Spot, Value]]:
    everybody = (1 << memory.ranks) - 1
    for gpu, sizes in memory.chunks.items():
        if collective == "custom" or (collective == "reduce" and gpu != root):
            continue
        if collective == "alltonext" and gpu == 0:
            continue
        chunks = sizes["o"]
        each = chunks // memory.ranks
        for chunk in range(chunks):
            owner, place = divmod(chunk, each) if collective in _PER_GPU and each else (0, chunk)
            value = {
                "allreduce": (chunk, everybody),
                "reduce": (chunk, everybody),
                "allgather": (place, 1 << owner),
                "reducescatter": (gpu * chunks + chunk, everybody),
                "alltoall": (gpu * each + place, 1 << owner),
                "broadcast": (chunk, 1 << (root or 0)),
                "alltonext": (chunk, 1 << max(gpu - 1, 0)),
            }[collective]
            spot = memory.spot(gpu, Place("o", chunk), 0)
            if spot is not None:
                yield spot, (value,)


def describe(value: Value | None, ranks: int) -> str:
    if not value:
        return "nothing"
    parts = []
    for chunk, mask in value[:3]:
        gpus = [str(gpu) for gpu in range(ranks) if mask >> gpu & 1]
        if len(gpus) == ranks > 1:
            parts.append(f"the sum of input chunk {chunk} of all GPUs")
        elif len(gpus) > 1:
            parts.append(f"the sum of input chunk {chunk} of GPUs {', '.join(gpus)}")
        else:
            parts.append(f"input chunk {chunk} of GPU {gpus[0]}")
    return " + ".join([*parts, "..."] if len(value) > 3 else parts)


def _check_sizes(program: Program, collective: str, memory: Memory) -> None:
    if collective == "custom":
        return
    ranks = memory.ranks
    first = memory.chunks[program.gpus[0].id]
    for gpu in program.gpus:
        sizes = memory.chunks[gpu.id]
        differs = [b for b in "io" if sizes[b] != first[b]]
        if differs and collective not in ("alltonext", *_ROOTED):
            _wrong(
                program, gpu, f"GPU {program.gpus[0].id} and GPU {gpu.id} differ in buffer sizes"
            )
        inputs, outputs = sizes["i"], sizes["o"]
        expected = {
            "allreduce": (outputs, outputs),
            "allgather": (outputs // ranks, outputs // ranks * ranks),
            "reducescatter": (outputs * ranks, outputs),
            "alltoall": (inputs // ranks * ranks, inputs),
        }.get(collective)
        if (expected is not None and (inputs, outputs) != expected) or not (inputs or outputs):
            _wrong(program, gpu, f"GPU {gpu.id} has {inputs} input and {outputs} output chunks")


def _wrong(program: Program, gpu: Gpu, problem: str) -> None:
    raise ConfigError(
        f"{program.where}:{gpu.line}",
        f"{problem}, which does not fit {program.collective} over {len(program.gpus)} GPUs",
    )
