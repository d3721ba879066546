"""Predicted collectives against measured ones: the record, and that it follows from the rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.accuracy.collective_rows import HEAD, ROWS, grouped, read_rows, rows
from yantra.accuracy.collectives import (
    BANDS,
    OWN,
    against,
    main,
    own_rows,
    recorded,
    sizes_left_out,
    switches,
)  # fmt: skip
from yantra.accuracy.collectives import _figures as figures_of
from yantra.base.errors import ConfigError

OF = {(one.what, one.system): one for one in recorded()}


def test_sizes_left_out_are_met() -> None:
    one = OF["sizes", "all"]
    assert one.rows == len(rows())
    assert one.median <= 0.06
    assert one.mean <= 0.11
    assert len(one.bands) == len(BANDS) and max(one.bands) <= 0.15


def test_other_ranks_over_nodes_and_other_sites_with_eight_times_are_met() -> None:
    assert OF["site_with_8", "all"].mean <= 0.12
    for site in ("a100-p4de", "a100-ndv4"):
        assert OF["site_with_8", site].mean <= 0.12
    assert OF["ranks", "all"].mean <= 0.12
    assert OF["ranks", "a100-ndv4"].mean <= 0.12


@pytest.mark.parametrize("what", ["sizes", "ranks", "site_with_8", "site"])
def test_intervals_hold_as_many_as_they_say(what: str) -> None:
    assert 0.85 <= OF[what, "all"].covered <= 0.95


def test_switches_add_where_the_data_show_it() -> None:
    asked, right = switches(rows())
    assert asked == right == OF["switches", "all"].rows == 10


def test_what_is_recorded_follows_from_the_rows() -> None:
    [now, *_] = figures_of("sizes", sizes_left_out(rows()))
    then = OF["sizes", "all"]
    assert (now.rows, now.median, now.mean) == (
        then.rows, pytest.approx(then.median, abs=1e-3), pytest.approx(then.mean, abs=1e-3),
    )  # fmt: skip


def test_eight_times_of_a_site_are_of_one_run_and_of_eight_sizes() -> None:
    for group in grouped(rows()).values():
        chosen = own_rows(group, OWN)
        assert len({row.size for row in chosen}) == 8
        assert len({(row.ranks, row.nodes, row.nccl) for row in chosen}) == 1
        assert own_rows(group, 0) == []


def test_other_rows_are_judged_by_the_fits_that_runs_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [all_of_them, *_] = against(rows())
    assert all_of_them.mean < OF["sizes", "all"].mean
    assert main(["--rows", ROWS]) == 0
    assert f"given,all,{len(rows())}," in capsys.readouterr().out
    other = tmp_path / "rows.csv"
    other.write_text(",".join(HEAD) + "\nh900,all_reduce,2.27,8,1,1024,10\n")
    with pytest.raises(ConfigError, match="no fit of h900 all_reduce node; there are a100"):
        main(["--rows", str(other)])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("h100,all_reduced,2,8,1,1024,10", "row 2: collective: expected one of all_reduce"),
        ("h100,all_reduce,2,eight,1,1024,10", "row 2: expected whole numbers"),
        ("h100,all_reduce,2,8,3,1024,10", "row 2: expected as many ranks on each node"),
        ("h100,all_reduce,2,8,1,1024,0", "row 2: expected as many ranks on each node"),
        ("h100,all_reduce,2,8,1,1024,nan", "row 2: expected as many ranks on each node"),
        ("", "expected rows below the columns"),
    ],
)
def test_wrong_rows_are_told_with_their_place(tmp_path: Path, line: str, expected: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",".join(HEAD) + f"\n{line}\n")
    with pytest.raises(ConfigError, match=expected):
        read_rows(path)
