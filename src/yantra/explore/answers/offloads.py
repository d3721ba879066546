"""Plans that fit once activations or optimizer state move to host memory.

Copies hide behind kernels, so such a plan may beat those that recompute or split more.
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
    """Return plans that fit with these fields, if faster than `best_ns` by closed form."""
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
