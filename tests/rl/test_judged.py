"""The measured steps, and what was recorded of predictions of them."""

from __future__ import annotations

from statistics import fmean

import pytest

from yantra.rl.accuracy.judged import judge, ran, ratios, recorded, scaled, table
from yantra.rl.accuracy.rows import rows


def test_tokens_a_second_of_the_table_are_those_of_its_own_definition() -> None:
    """Samples times length over seconds and GPUs, of the first row: 1,581, printed."""
    of = rows()[0].given
    tokens = int(of["prompts"]) * int(of["generations"]) * int(of["mean"])
    assert tokens / rows()[0].seconds / int(of["gpus"]) == pytest.approx(1581, rel=0.12)


def test_the_record_holds_what_the_page_says() -> None:
    found = recorded()
    assert len(found) == len(rows()) == 23
    assert sum(one.held for one in found) / len(found) >= 0.85
    assert max(one.high / one.low for one in found) <= 2.0
    assert fmean(abs(one.error) for one in found) < 0.12
    assert fmean(abs(one.fitted / one.measured - 1) for one in found) <= 0.12
    assert len(ratios(found)) == 3
    for _, measured, ours in ratios(found):
        assert ours == pytest.approx(measured, rel=0.12)
    assert sum(line.count(": ") for line in table(found) if "|" in line) == 23


def test_a_row_is_judged_now_as_it_was_recorded() -> None:
    one = ran(rows()[0])
    assert scaled(one, (1.0, 1.0, 1.0, 1.0)) == pytest.approx(one.seconds)
    assert one.seconds == pytest.approx(recorded()[0].seconds, abs=0.06)
    judged, _ = judge([one, ran(rows()[3])])
    assert judged[0].measured == 92.8
