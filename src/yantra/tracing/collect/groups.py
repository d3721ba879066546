"""Process groups: names, ranks, and a rank's place in them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Group(NamedTuple):
    """`ranks` are global, in group order."""

    name: str
    ranks: list[int]

    def rank_at(self, place: int | None) -> int | None:
        return None if place is None or not 0 <= place < len(self.ranks) else self.ranks[place]


class Groups:
    def __init__(self, dist: Any) -> None:
        self._dist = dist
        self._known: dict[str, Group] = {}

    def of(self, process_group: Any) -> Group:
        name = str(process_group.group_name)
        group = self._known.get(name)
        if group is None or len(group.ranks) != process_group.size():
            group = self._known[name] = Group(name, self._ranks(process_group))
        return group

    def _ranks(self, process_group: Any) -> list[int]:
        try:
            return [int(rank) for rank in self._dist.get_process_group_ranks(process_group)]
        except (KeyError, ValueError, RuntimeError):  # not torch.distributed's
            return list(range(process_group.size()))


def described(dist: Any) -> list[dict[str, Any]]:
    if not (dist.is_available() and dist.is_initialized()):
        return []
    return [
        {
            "pg_name": str(info["pg_name"]),
            "pg_desc": str(info["pg_desc"]),
            "backend_config": str(info["backend_config"]),
            "ranks": [int(rank) for rank in info["ranks"]] or list(range(info["group_size"])),
        }
        for info in dist.distributed_c10d._world.pg_config_info
    ]
