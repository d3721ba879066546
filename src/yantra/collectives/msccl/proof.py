"""Proves a program right for all durations, or says where it is wrong."""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.collectives.msccl.conditions import (
    COLLECTIVES,
    after,
    before,
    collective_of,
    data_chunks,
    describe,
    root_of,
)
from yantra.collectives.msccl.execution import Execution
from yantra.collectives.msccl.memory import Memory
from yantra.collectives.msccl.order import Order
from yantra.collectives.msccl.program import BUFFERS, Program
from yantra.collectives.msccl.races import find_race


class Proof(NamedTuple):
    program: Program
    order: Order
    collective: str
    chunks: int
    lines: tuple[str, ...]


def prove(program: Program, collective: str | None = None) -> Proof:
    """Prove a program; `collective` overrides the file's.

    Raises ConfigError at the first wrong line.
    """
    name = collective_of(program, collective)
    order = Order(program)
    modes = [True] * program.in_place + [False] * program.out_of_place
    roots = [_prove_mode(program, order, name, mode) for mode in modes]
    chunks = data_chunks(program, name)
    if chunks < 1:
        raise ConfigError(program.where, "no GPU has a chunk of input or output")
    return Proof(program, order, name, chunks, proof_lines(_counts(order), name, modes, roots[0]))


def _prove_mode(program: Program, order: Order, collective: str, in_place: bool) -> int | None:
    memory = Memory(program, collective, in_place)
    values = before(program, collective, memory)
    execution = Execution(order, memory, values, strict=collective != "custom")
    execution.run()
    race = find_race(execution)
    if race is not None:
        order.fail(*race)
    root = root_of(collective, values, memory)
    for spot, promised in after(collective, memory, root):
        held = values.get(spot)
        if held != promised:
            lines = {gpu.id: gpu.line for gpu in program.gpus}
            raise ConfigError(
                f"{program.where}:{lines[spot.gpu]}",
                f"at the end of {collective}, {BUFFERS[spot.buffer]} chunk {spot.chunk} of GPU "
                f"{spot.gpu} must hold {describe(promised, memory.ranks)}, but holds "
                f"{describe(held, memory.ranks)}",
            )
    return root


class Counts(NamedTuple):
    """How much was proven; `depth`: steps of the longest chain."""

    messages: int
    connections: int
    depth: int
    steps: int


def _counts(order: Order) -> Counts:
    return Counts(len(order.sender), len(order.connections), order.depth(), len(order.events))


def proof_lines(
    counts: Counts, collective: str, modes: list[bool], root: int | None = None
) -> tuple[str, ...]:
    how = " and ".join("in place" if mode else "out of place" for mode in modes)
    promise = COLLECTIVES[collective].format(root=root)
    result = (
        f"result: {promise}, called {how}"
        if promise
        else "result: not proven, as custom promises nothing; --collective names one to prove"
    )
    return (
        f"messages: all {counts.messages} have a sender and a receiver, over "
        f"{counts.connections} connections",
        f"deadlock: none; the longest chain has {counts.depth} of {counts.steps} steps",
        "memory: no step leaves its buffers or reads what nothing has written",
        "races: none; every order of the steps gives the same data",
        result,
    )
