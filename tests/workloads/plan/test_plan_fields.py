"""Every field of a plan is explained."""

from __future__ import annotations

from yantra.workloads.plan import Plan
from yantra.workloads.plan_fields import MEANINGS


def test_every_field_has_a_meaning_in_their_order() -> None:
    assert tuple(MEANINGS) == Plan.field_names
