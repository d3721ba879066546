"""Units that all-to-alls take. Trade-off: one number for all groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yantra.scenario.types import Collectives


def all_to_all_sms(collectives: Collectives) -> int | None:
    given = collectives.interference
    if given is None or given.all_to_all_sms is not None or collectives.selection is None:
        return None if given is None else given.all_to_all_sms
    from yantra.collectives.selection import selection_of

    return selection_of(collectives.selection).sms("all_to_all")
