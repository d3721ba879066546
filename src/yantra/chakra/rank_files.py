"""What to say when only some ranks' traces of a job are here."""

from __future__ import annotations

import os
import re

from yantra import _core
from yantra.base.text import count, rank_list
from yantra.chakra import heads

_PLACE = "{rank}"


def here(pattern: str) -> list[int]:
    folder, name = os.path.split(pattern)
    before, _, after = name.partition(_PLACE)
    shape = re.compile(f"{re.escape(before)}(0|[1-9][0-9]{{0,8}}){re.escape(after)}")
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return []
    return sorted(int(found[1]) for entry in names if (found := shape.fullmatch(entry)))


def only_some(pattern: str) -> str:
    ranks = here(pattern)
    if not ranks or ranks[0] == 0:
        return ""
    first = pattern.replace(_PLACE, str(ranks[0]))
    world = _world_size(first)
    said = f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {rank_list(tuple(ranks))}"
    of = f" of {world}" if world else ""
    files = first if len(ranks) == 1 else count(len(ranks), "file")
    alone = pattern.replace(_PLACE, "0")
    return (
        f"only {said}{of} {'is' if len(ranks) == 1 else 'are'} here ({files}); `yantra chakra "
        "convert pytorch` with --replicate lets one rank stand for all; with -o "
        f"{os.path.basename(alone)}, `--set cluster.ranks=1 --set replay_only=true` replays it "
        "alone"
    )


def no_such_file(pattern: str, ranks: int) -> str:
    needs = f"the cluster has {ranks} ranks and each needs a trace"
    return f"no such file; {only_some(pattern) or needs}"


def _world_size(path: str) -> int | None:
    head = heads.head_of(path)
    size = None if head is None else _number(head, "world_size")
    return size if size and size > 1 else None


def _number(head: _core.Trace, name: str) -> int | None:
    values = (value for found, _, value, _ in head.metadata if found == name)
    value = next(values, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
