"""Data edges of a program between instructions that ran, through those that did not.

Tuples, parameters, loops and the ends of asynchronous instructions are looked through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from yantra.tracing.sources.hlo import Instruction, Program

_Place = tuple[int, tuple[int, ...]]  # instruction, part of its tuple


class Edges:
    """`ran`: names of instructions with events that contain no others."""

    def __init__(self, program: Program, ran: Collection[str]) -> None:
        self.program = program
        self.ran = ran
        self.callers: defaultdict[int, list[Instruction]] = defaultdict(list)
        for one in program.instructions.values():
            for id in one.calls:
                self.callers[id].append(one)
        self._known: dict[int, tuple[str, ...]] = {}

    def producers(self, one: Instruction) -> tuple[str, ...]:
        """The instructions that ran whose results it takes, by name."""
        known = self._known.get(one.id)
        if known is None:
            known = self._known[one.id] = tuple(self._found(one))
        return known

    def _found(self, one: Instruction) -> list[str]:
        todo: list[_Place] = [(id, ()) for id in (*one.operands, *one.controls)]
        seen = set(todo)
        found: dict[str, None] = {}
        while todo:
            id, path = todo.pop()
            other = self.program.instructions.get(id)
            if other is None:
                continue
            if other.name in self.ran:
                found[other.name] = None
                continue
            for place in self._behind(other, path):
                if place not in seen:
                    seen.add(place)
                    todo.append(place)
        return list(found)

    def _behind(self, one: Instruction, path: tuple[int, ...]) -> Iterator[_Place]:
        ids = one.operands
        if one.opcode == "get-tuple-element":
            path = (one.index, *path)
            yield from ((id, path) for id in ids)
        elif one.opcode == "tuple" and path:
            yield from ((id, path[1:]) for id in ids[path[0] : path[0] + 1])
        elif one.opcode == "parameter":
            yield from self._given(one, path)
        elif one.opcode in ("while", "call", "conditional"):
            computations = one.calls[:1] if one.opcode == "while" else one.calls
            yield from ((self._root(id), path) for id in computations)
            if one.opcode == "while":
                yield from ((id, path) for id in ids)
        else:
            keeps = path if one.opcode in ("copy", "bitcast", "optimization-barrier") else ()
            yield from ((id, keeps) for id in ids)

    def _given(self, one: Instruction, path: tuple[int, ...]) -> Iterator[_Place]:
        home = self.program.home.get(one.id, -1)
        for caller in self.callers.get(home, ()):
            at = one.index
            if caller.opcode == "while":
                yield self._root(caller.calls[0]), path
            elif caller.opcode == "conditional":
                at = caller.calls.index(home) + 1  # behind the branch's number
            yield from ((id, path) for id in caller.operands[at : at + 1])

    def _root(self, id: int) -> int:
        computation = self.program.computations.get(id)
        return -1 if computation is None else computation.root
