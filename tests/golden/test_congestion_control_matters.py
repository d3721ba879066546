"""Where the choice of a congestion control decides: with marks at 40 kB per 100 Gb/s, not with the
fork's default of 400 kB; incasts up to four times, rings hardly. The amounts are those that the
ns-3 fork measured.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.golden.packet_cases import SCHEMES, cases, run

CASES = cases()
WITHOUT = "12"
MODES = [mode for mode in SCHEMES if mode not in ("10", WITHOUT)]  # PINT's rounding is random
INCASTS = [name for name in CASES if name.startswith("incast") and name.endswith("_step")]
RINGS = [name for name in CASES if name.startswith("ring_allreduce")]


@cache
def _last_ns(name: str, mode: str) -> int:
    return max(end for end in run(CASES[name], mode).completed_ns if end is not None)


def _measured_ns(name: str, mode: str) -> int:
    result: dict[str, Any] = CASES[name]["results"][mode]
    assert result["deterministic"]
    return max(result["end_ns"])


def _against_none(name: str, mode: str) -> float:
    return _last_ns(name, mode) / _last_ns(name, WITHOUT)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*INCASTS, *RINGS])
def test_the_choice_changes_the_end_by_what_the_fork_measured(name: str, mode: str) -> None:
    expected = _measured_ns(name, mode), _measured_ns(name, WITHOUT)
    assert (_last_ns(name, mode), _last_ns(name, WITHOUT)) == expected


def test_an_incast_with_marks_in_one_step_takes_four_times_as_long_under_dcqcn() -> None:
    name = "incast8_100g_10us_step"
    assert CASES[name]["config"]["KMIN"]["100"] == CASES[name]["config"]["KMAX"]["100"] == 40
    found = {SCHEMES[mode]: round(_against_none(name, mode), 2) for mode in MODES}
    assert found == {"dcqcn": 3.95, "hpcc": 1.08, "timely": 1.75, "dctcp": 1.0}


def test_a_ring_all_reduce_at_the_same_thresholds_takes_five_percent_more_at_most() -> None:
    name = "ring_allreduce8_star_step"
    assert CASES[name]["config"]["KMIN"]["100"] == CASES[name]["config"]["KMAX"]["100"] == 40
    found = {SCHEMES[mode]: round(_against_none(name, mode), 4) for mode in MODES}
    assert found == {"dcqcn": 1.0, "hpcc": 1.0497, "timely": 1.0086, "dctcp": 1.0}


def test_in_an_incast_the_choice_matters_more_than_in_any_ring() -> None:
    worst_ring = max(_against_none(name, mode) for name in RINGS for mode in MODES)
    for name in INCASTS:
        assert max(_against_none(name, mode) for mode in MODES) > worst_ring
