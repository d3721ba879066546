"""The laws by name; a law draws a case and says what is wrong about it, if anything."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.laws import alone, pairs
from tests.laws.cases import Case, any_case
from yantra.base.errors import DeadlockError, YantraError


class Law(NamedTuple):
    """`draw` makes a case on a network; `wrong` returns what a case breaks, "" where it holds. It
    is not for the networks `not_on`. `noted` returns what is worth counting in a case that holds.
    """

    says: str
    draw: Callable[[Random, str], Case | None]
    wrong: Callable[[Case], str]
    not_on: tuple[str, ...] = ()
    noted: Callable[[Case], str] | None = None


LAWS: dict[str, Law] = {
    "replica": Law(
        "a replica on links of its own changes no time", pairs.draw_doubled, pairs.replica
    ),
    "idle": Law("idle ranks change no time", pairs.draw_idle, pairs.idle),
    "all": Law(
        "a group of all ranks takes the times of all ranks", pairs.draw_grouped, pairs.grouped
    ),
    "numbers": Law(
        "ranks numbered anew take the same times", pairs.draw_relabelled, pairs.relabelled
    ),
    "units": Law(
        "all times k times as long make a run k times as long",
        pairs.draw_scaled,
        pairs.units,
        noted=pairs.rounded,
    ),
    "parts": Law(
        "parts of a message take no less than the whole, and little more",
        pairs.draw_split,
        pairs.split,
        ("ideal",),
    ),
    "faster": Law(
        "a faster part is never slower", pairs.draw_faster, pairs.faster, noted=pairs.witnessed
    ),
    "rates": Law("no link is above its rate", any_case, alone.rates, ("ideal",)),
    "bounds": Law("no collective is below its cut bound", alone.draw_cut, alone.cut, ("ideal",)),
    "iterations": Law("one more iteration costs the same", pairs.draw_iterated, pairs.iterations),
    "later": Law("what comes later changes nothing before", any_case, pairs.later),
    "validate": Law("validate and run give the same answer", alone.draw_checked, alone.checked),
    "folded": Law("a folded run is the whole run", alone.draw_folded, alone.whole),
    "work": Law("no rank ends before its own work", any_case, alone.own_work),
    "sums": Law("the parts of a rank sum up to its end", any_case, alone.sums),
    "again": Law("run again it gives the same bits", any_case, alone.again),
    "ends": Law("a job that can end does", any_case, alone.ends),
}


def broken(law: Law, case: Case) -> str:
    """Raises UnsupportedError for what the network refuses to do."""
    try:
        return law.wrong(case)
    except DeadlockError as error:
        return str(error).splitlines()[0]
    except YantraError:
        raise
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}"
