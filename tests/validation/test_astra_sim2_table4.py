"""ASTRA-sim 2.0, table IV. Not printed: 64 chunks, one at a time per dimension; hops and hand-overs
of 1 ns. A rank's 7 links together are its bandwidth. A printed GB is 2^30 bytes.
"""

from __future__ import annotations

import pytest

from tests.validation.published import deviation, rows

from astra_sim2_table4 import WITHIN, ours_us  # isort: skip  # found by the line above

SYSTEMS = [(row["sizes"], float(row["time_us"])) for row in rows("astra_sim2_table4.csv")]


@pytest.mark.parametrize(("sizes", "published_us"), SYSTEMS)
def test_scaling_up_and_out_takes_the_published_time(sizes: str, published_us: float) -> None:
    assert abs(deviation(ours_us(sizes), published_us)) < WITHIN


def test_scaling_out_is_free_while_the_second_dimension_is_the_bottleneck() -> None:
    assert len({time for sizes, time in SYSTEMS if sizes.startswith("2_8_8_")}) == 1
