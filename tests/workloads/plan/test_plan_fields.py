"""Every field of a plan is explained."""

from __future__ import annotations

from yantra.workloads.plan.fields import MEANINGS
from yantra.workloads.plan.plan import Plan


def test_every_field_has_a_meaning_in_their_order() -> None:
    assert tuple(MEANINGS) == Plan.field_names
