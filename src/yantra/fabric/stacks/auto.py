"""`auto`: the shipped stack that is nearest to the framework a job or a recording names.

Of the stacks of that framework, all generations that share it, those of the model's kind count
where there are any. Two things make one strange: that it is called otherwise, and that it has no
terms of this machine in this precision. Of equals the year decides: nearest to the one behind the
name (`Megatron-LM 2021`, `Megatron-Bridge 26.04`), else the latest.

Trade-off: a name says nothing of versions, switches and compilers. A framework of which no stack is
shipped is as good as none, and runs with `unknown`: the stack of a relative is further off than the
mixture, whose interval says how far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from yantra.fabric.stacks.choice import AUTO, UNKNOWN
from yantra.fabric.stacks.find import load, names
from yantra.fabric.stacks.types import ANY, DENSE, Stack

_YEAR = re.compile(r"(.*\S)\s+((?:19|20)\d\d|\d\d\.\d\d)")


class Named(NamedTuple):
    """What a job says of its framework: its name, empty where it has none, and in which file.

    `kind` is that of its model: `dense` or `moe`.
    """

    framework: str
    where: str
    kind: str = DENSE


NOBODY = Named("", "")
"""What is known where there is no job."""


def stack_for(named: Named, cluster: str | None = None, dtype: str | None = None) -> Stack:
    """Return the stack of a job on a machine; its `chosen_by` says why it is this one."""
    if not named.framework:
        at = f" in {named.where}" if named.where else ""
        return _unknown(f"no framework named{at}")
    found = nearest(named, map(load, names()), cluster, dtype)
    said = f"{named.framework}, named in {named.where}"
    if found is None:
        return _unknown(f"no stack is shipped of {said}")
    return found.replace(chosen_by=f"{AUTO}: nearest to {said}")


def nearest(
    named: Named, stacks: Iterable[Stack], cluster: str | None, dtype: str | None
) -> Stack | None:
    """Return the nearest of the stacks of a framework; None where none is of it."""
    match = _YEAR.fullmatch(named.framework.strip())
    framework, when = (match[1], _date(match[2])) if match else (named.framework, None)
    wanted = _plain(framework)
    known = [one for one in stacks if one.name != UNKNOWN]
    frameworks = {one.framework for one in known if wanted in _called(one)}
    of_it = [one for one in known if one.framework in frameworks]
    of_kind = [one for one in of_it if one.kind == named.kind]

    def distance(stack: Stack) -> tuple[float, float, str]:
        other_name = wanted not in map(_plain, stack.names)
        other_machine = cluster is None or stack.terms(cluster, dtype)[0] == ANY
        date = _date(stack.release or str(stack.year or 0))
        return other_name + other_machine, -date if when is None else abs(date - when), stack.name

    return min(of_kind or of_it, key=distance, default=None)


def _date(text: str) -> float:
    """Return the year of a year, or of a release by year and month."""
    year, _, month = text.partition(".")
    return 2000.0 + int(year) + int(month) / 12.0 if month else float(year)


def _called(stack: Stack) -> set[str]:
    return {_plain(one) for one in (stack.framework, *stack.names)}


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())


def _unknown(why: str) -> Stack:
    return load(UNKNOWN).replace(chosen_by=f"{AUTO}: {why}")
