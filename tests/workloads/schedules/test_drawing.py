"""A drawing shows every pass in its time, and fits."""

from __future__ import annotations

import pytest

from yantra.workloads import schedules
from yantra.workloads.schedules.contract import sizes_of
from yantra.workloads.schedules.drawing import draw
from yantra.workloads.schedules.execution import Costs, execute


def drawn(name: str, p: int, m: int, v: int = 1, width: int = 100, **costs: float) -> list[str]:
    schedule = schedules.get(name)
    execution = execute(schedule.orders(p, m, v), schedule.stages(p, v), Costs(**costs))
    return draw(execution, width).splitlines()


def test_a_pass_is_as_wide_as_it_lasts() -> None:
    assert drawn("1f1b", 2, 3, width=70) == [
        "one column is 0.25, the whole 12",
        "                                                            idle held",
        "device 0 |F0--F1--........B0------F2--B1------....B2------|  25%    2",
        "device 1 |....F0--B0------F1--B1------F2--B2------........|  25%    1",
    ]


def test_chunks_and_pairs_are_shown_where_there_is_room() -> None:
    wide, narrow = (drawn("dualpipe", 2, 4, width=width, overlapped=2)[2:] for width in (120, 60))
    assert [line.split("|")[1] for line in wide] == [
        "F0------F2.1----F1------B2.1------------F3.1&B0---------B3.1------------b1------W1------",
        "F2.1----F0------F3.1----B0--------------F1&B2.1---------B1--------------b3.1----W3.1----",
    ]
    assert [line.split("|")[1] for line in narrow] == [
        "F0-F2-F1-B2.1--F&B---B3.1--b1-W1-",
        "F2-F0-F3-B0----F&B---B1----b3-W3-",
    ]


def test_the_middle_is_cut_out_where_it_does_not_fit() -> None:
    lines = drawn("1f1b", 4, 64, width=80)
    assert lines[0] == "one column is 0.333333, the whole 201; ~ stands for 182.333"
    assert lines[2] == (
        "device 0 |F0-F1-F2-F3-................ ~ -...B61---...B62---...B63---|   4%    4"
    )


def test_the_first_pass_of_every_device_is_before_the_cut() -> None:
    last = drawn("1f1b", 16, 64, width=80)[-1]
    assert last == (
        "device 15 |...............FB0FB1FB2FB3 ~ ...........................|  19%    1"
    )


def test_passes_of_a_kind_look_alike_where_their_ends_fall_between_columns() -> None:
    costs = {"forward": 1.2, "input_gradient": 1.4, "latency": 0.1}
    assert drawn("zb-v", 4, 8, width=90, **costs)[2] == (
        "device 0 |FFF-FFFF.Fb-WFbWFb-WFbWF-bWFb-Wb-WFbW.bWFb-Wb-WFbb-Wb-Wb-Wb-WW.|   9%    8"
    )


def test_a_pass_much_shorter_than_the_others_may_vanish() -> None:
    lines = drawn("zb-h1", 2, 2, width=60, weight_gradient=1e-6)
    assert len(lines) == 4
    assert max(map(len, lines)) <= 60


def test_no_time_at_all_is_drawn_too() -> None:
    lines = drawn("gpipe", 2, 2, forward=0, input_gradient=0, weight_gradient=0)
    assert lines[0] == "one column is 1, the whole 0"


@pytest.mark.parametrize("name", schedules.schedules.names())
@pytest.mark.parametrize("width", [40, 80, 133])
def test_every_drawing_fits(name: str, width: int) -> None:
    for p, m, v in sizes_of(schedules.get(name))[::5]:
        lines = drawn(name, p, m, v, width=width)[1:]
        assert len(lines) == p + 1
        assert len({len(line) for line in lines}) == 1
        assert len(lines[0]) <= width
