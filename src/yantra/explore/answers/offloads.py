"""Plans that fit once activations or the optimizer's state wait in the host's memory.

Copies to the host hide behind kernels, so such a plan may beat all that fit without: it computes
less again, or is split into fewer parts. The fastest rows that do not fit are tried, as simulation
alone says what the copies cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.explore.answers.ranked import rows_by_kind
from yantra.explore.answers.refine import WAITS

if TYPE_CHECKING:
    from yantra.explore.answers.ranked import Ranked
    from yantra.explore.answers.refine import Choices, FromRow, IsLegal, Rows

_LOOKED, _TRIES = 6, 2  # rows whose memory is looked at, and plans that fit


def offloaded(
    rows: Rows, best_ns: float, simulate: FromRow, is_legal: IsLegal, choices: Choices
) -> list[Ranked]:
    """Return plans that are faster than `best_ns` by closed form, and fit with these fields."""
    names = [name for name in WAITS if True in choices.get(name, (True,))]
    faster = ~rows.fits & (rows.judged.time_ns < best_ns)
    found: list[Ranked] = []
    for row in map(int, rows_by_kind(rows.columns, rows.judged, faster)[:_LOOKED]):
        least = min((one.time_ns for one in found), default=best_ns)
        if len(found) == _TRIES or rows.judged.time_ns[row] >= least:
            break
        for name in names:
            one = simulate(row, {name: True}, "kernels") if is_legal(row, {name: True}) else None
            if one is not None and not one.not_simulated:
                found.append(one)
                break
    return found
