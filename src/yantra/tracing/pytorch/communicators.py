"""Communicators: from PyTorch's group names to ASTRA-sim's integer ids.

A small number as name is the id; others follow by ranks and names, equal on all ranks only if
converted together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from yantra.tracing.pytorch.communication import Communication

Key = tuple[tuple[int, ...], str]
WORLD = 0
ALL = "rank"
"""The axis of all ranks, in a template."""
_LARGEST = 499  # larger ones' tags collide in ASTRA-sim


class Communicators:
    def __init__(self, world_size: int, items: Iterable[Communication] = ()) -> None:
        self.world = tuple(range(world_size))
        self.ids: dict[Key, int] = {}
        self._assign({self.key(item) for item in items})

    def key(self, item: Communication) -> Key:
        ranks = item.ranks or self.world
        return ranks, item.group or ""

    def id(self, item: Communication) -> int:
        return self.ids[self.key(item)]

    def relative(self, item: Communication) -> str:
        """The axis of the item's group in a template; "" for all ranks."""
        id = self.id(item)
        return "" if id == WORLD else f"group{id}"

    @property
    def members(self) -> dict[int, tuple[int, ...]]:
        return {id: ranks for (ranks, _), id in self.ids.items() if id != WORLD}

    def json(self) -> str:
        members = sorted(self.members.items())
        rows = (f'  "{id}": {json.dumps(list(ranks))}' for id, ranks in members)
        return "{\n" + ",\n".join(rows) + "\n}\n" if members else "{}\n"

    def _assign(self, keys: set[Key]) -> None:
        everyone = sorted((key for key in keys if key[0] == self.world), key=_default_first)
        default = everyone[0][1] if everyone else ""
        for key in everyone:
            if key[1] in (default, ""):
                self.ids[key] = WORLD
        others = sorted(key for key in keys if key not in self.ids)
        numbers = Counter(key[1] for key in others)
        own = {key: int(key[1]) for key in others if _is_id(key[1]) and numbers[key[1]] == 1}
        self.ids |= own
        taken = set(own.values())
        free = (number for number in range(1, len(others) + len(taken) + 1) if number not in taken)
        for key in others:
            if key not in own:
                self.ids[key] = next(free)


def _default_first(key: Key) -> tuple[bool, int, str]:
    # PyTorch's names of the group of all ranks.
    return key[1] not in ("0", "default_pg"), len(key[1]), key[1]


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdigit() and 1 <= int(name[:4]) <= _LARGEST and len(name) < 4
