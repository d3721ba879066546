"""Themis, figure 8: topologies of table 2, hops and hand-overs of 1 ns, 64 chunks; a dimension has
the bandwidth of all links of an accelerator in it. Read from the figure with 0.2 % of the scale.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.validation.published import MIB, all_reduce_us, deviation, rows

from themis_figure8 import READING_ERROR, SCHEDULERS, TOPOLOGIES  # isort: skip  # found by the line above

ROWS = list(rows("themis_figure8.csv"))
IN_EVERY_RUN = ("0.1", "0.5", "1.0")
SLOW = pytest.mark.slow


def largest_us(topology: str) -> float:
    return max(float(row["time_us"]) for row in ROWS if row["topology"] == topology)


def cases() -> list[Any]:
    return [
        pytest.param(
            row, id="-".join(row.values()), marks=[] if row["size"] in IN_EVERY_RUN else [SLOW]
        )
        for row in ROWS
    ]


@pytest.mark.parametrize("row", cases())
def test_an_all_reduce_takes_the_published_time(row: dict[str, str]) -> None:
    options, within = SCHEDULERS[row["scheduler"]]
    size_bytes = round(float(row["size"]) * 1000) * MIB
    ours_us = all_reduce_us(
        TOPOLOGIES[row["topology"]], size_bytes, chunks=64, endpoint_delay_ns=1, **options
    )
    published_us = float(row["time_us"])
    allowed_us = within * published_us + READING_ERROR * largest_us(row["topology"])
    assert abs(ours_us - published_us) < allowed_us


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_at_full_size_the_schedulers_are_as_close_as_promised(topology: str) -> None:
    for row in ROWS:
        if row["topology"] == topology and row["size"] == "1.0":
            options, within = SCHEDULERS[row["scheduler"]]
            ours_us = all_reduce_us(
                TOPOLOGIES[topology], 1000 * MIB, chunks=64, endpoint_delay_ns=1, **options
            )
            assert abs(deviation(ours_us, float(row["time_us"]))) < within
