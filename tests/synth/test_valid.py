"""A thousand samples of each tier, of ten families by many plans: `pytest -m slow`."""

from __future__ import annotations

import pytest

from yantra.synth.judged import DRAWN, valid


@pytest.mark.slow
@pytest.mark.parametrize("tier", DRAWN)
def test_a_thousand_samples_are_valid_and_run_to_the_end(tier: str) -> None:
    assert valid(tier, 1000) == (1000, 1000)
