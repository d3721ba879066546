"""How much memory a command may take, and the message when it is too little.

Linux enforces it (RLIMIT_DATA): an allocation beyond it ends the command with a sentence. Elsewhere
only the estimate before a run is compared.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from yantra.base import regular
from yantra.base.errors import ConfigError
from yantra.base.units import format_size, parse

if TYPE_CHECKING:
    from collections.abc import Callable

SHARE = 0.9
"""Of the memory that is free: the limit where nobody sets one."""

WHERE = "--memory-limit"
_CGROUP = "/sys/fs/cgroup/memory.{}"


class Limit:
    """The most bytes of the process; `is_given`: by the user."""

    def __init__(self, bytes: int, is_given: bool) -> None:
        self.bytes = bytes
        self.is_given = is_given

    def describe(self) -> str:
        if self.is_given:
            return f"the limit of {format_size(self.bytes)}"
        return f"{format_size(self.bytes)}, {SHARE:.0%} of the memory that is free"


_in_force: list[Limit] = []
_last: list[Limit] = []  # kept for the error when the limit is lifted
_needs: list[Callable[[], str]] = []


def free_bytes() -> int:
    """Return free memory: the machine's or the control group's, if less."""
    try:
        with open("/proc/meminfo", "rb") as file:
            free = next(int(line.split()[1]) * 1024 for line in file if b"MemAvailable" in line)
    except (OSError, StopIteration):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return min(free, _free_in_group(free))


def limit() -> Limit:
    return _in_force[-1] if _in_force else Limit(_used_bytes() + int(SHARE * free_bytes()), False)


def left_bytes() -> int:
    return max(min(free_bytes(), limit().bytes - _used_bytes()), 0)


def read_limit(text: str, where: str = WHERE) -> int:
    """Return the bytes of a text such as `8GiB`. Raises ConfigError."""
    size = parse(text, "size", "B", where)
    if size < 1:
        raise ConfigError(where, f"must be at least 1 B; got {text}")
    return int(min(size, sys.maxsize))


class limited:  # noqa: N801  # said as `with limited(...)`
    """Keeps the process below `most` bytes, or a share of what is free."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._before: tuple[int, int] | None = None

    def __enter__(self) -> None:
        used = _used_bytes()
        own = limit() if self._most is None else Limit(self._most, True)
        if own.bytes <= used:
            problem = f"must be above {format_size(used)}, which is in use before the run"
            raise ConfigError(WHERE, f"{problem}; got {format_size(own.bytes)}")
        self._before = _set_limit(own.bytes)
        _in_force.append(own)
        _last[:] = [own]
        _needs.clear()
        regular.last.clear()

    def __exit__(self, *why: object) -> None:
        _in_force.pop()
        if self._before is not None:
            _restore(self._before)


def is_limited() -> bool:
    return bool(_in_force)


def is_short() -> bool:
    return bool(_last) and _used_bytes() > SHARE * _last[0].bytes


def note(need: Callable[[], str]) -> None:
    _needs[:] = [need]


def out_of_memory() -> str:
    allowed = _last[0].describe() if _last else "the memory that is free"
    more = f"allow more with {WHERE}"
    if _needs:
        advice = f"{more}, use fewer chunks or queues, or let the run fold"
        return f"memory: this takes more than {allowed}; {_needs[-1]()}; {advice}"
    if regular.last:
        path, size = regular.last[0]
        what = f"{os.fspath(path)!s} has {format_size(size)}, and what it holds takes more than"
        return f"memory: {what} {allowed}; {more}, or give less of it"
    return f"memory: this takes more than {allowed}; {more}"


def _set_limit(most: int) -> tuple[int, int] | None:
    if sys.platform != "linux":
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    hard = before[1]
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if before[0] != resource.RLIM_INFINITY:
        soft = min(soft, before[0])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    return before


def _restore(before: tuple[int, int]) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, before)


def _used_bytes() -> int:
    try:
        with open("/proc/self/status", "rb") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmData:"))
    except (OSError, StopIteration):
        return 0


def _free_in_group(most: int) -> int:
    try:
        with open(_CGROUP.format("max")) as of_max, open(_CGROUP.format("current")) as of_current:
            return max(int(of_max.read()) - int(of_current.read()), 0)
    except (OSError, ValueError):
        return most  # no control group, or one without a limit
