"""A user's own list of operations: what it may say, and the errors of a wrong one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads import schedules
from yantra.workloads.schedules import contract
from yantra.workloads.schedules.contract import sizes_of
from yantra.workloads.schedules.listed import as_text

GOOD = """\
micro_batches: 3
devices:
- F0 F1 B0 F2 B1 B2
- F0 B0 F1 B1 F2 b2 W2
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", schedules.schedules.names())
def test_what_is_written_is_read(name: str, tmp_path: Path) -> None:
    schedule = schedules.get(name)
    for p, m, v in sizes_of(schedule)[::17]:
        orders, stages = schedule.orders(p, m, v), schedule.stages(p, v)
        listed = schedules.get(written(tmp_path, as_text(orders, stages, m)))
        assert listed.requires(p, m, v) is None
        assert listed.orders(p, m, v) == orders
        assert listed.stages(p, v).routes == stages.routes


def test_json_is_read_too(tmp_path: Path) -> None:
    tree = {"micro_batches": 1, "devices": [["F0", "B0"], ["F0", "b0", "W0"]]}
    for indent in (None, 2, "\t"):
        path = written(tmp_path, json.dumps(tree, indent=indent), "mine.json")
        assert [len(order) for order in schedules.get(path).orders(2, 1)] == [2, 3]


def test_a_key_given_twice_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, '{"devices": [], "devices": []}', "mine.json")
    with pytest.raises(ConfigError) as error:
        schedules.get(path)
    assert str(error.value) == f'{path}, line 1, column 17: the key "devices" is given twice'


def test_stages_may_lie_anywhere(tmp_path: Path) -> None:
    text = (
        "micro_batches: 1\nchunks: 2\nplacement: [1.0 0.1 0.0 1.1]\n"
        "devices:\n- F0.1 F0 B0 B0.1\n- F0 F0.1 B0.1 B0\n"
    )
    listed = schedules.get(written(tmp_path, text))
    stages = listed.stages(2)
    assert [stages.stage(1, 0), stages.stage(0, 1), stages.stage(0, 0)] == [0, 1, 2]
    assert "placement:\n- 1.0 0.1 0.0 1.1\n" in as_text(listed.orders(2, 1), stages, 1)


def test_a_list_is_for_its_own_size_only(tmp_path: Path) -> None:
    listed = schedules.get(written(tmp_path, GOOD))
    assert listed.requires(2, 3) is None
    assert listed.requires(4, 3) == "needs 2 devices, as its list has, got 4; the nearest is 2"
    assert (
        listed.requires(2, 8) == "needs 3 micro-batches, as its list has, got 8; the nearest is 3"
    )
    assert listed.requires(2, 3, 2) == "needs 1 chunk, as its list has, got 2; the nearest is 1"
    with pytest.raises(ConfigError, match=r"mine\.yaml needs 2 devices"):
        listed.orders(4, 3)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (GOOD, "[]", ": expected the keys micro_batches, chunks, placement, devices, got []"),
        (
            "micro_batches",
            "micro_batch",
            ": micro_batch: no such key; expected one of micro_batches, chunks, placement, devices"
            "; did you mean 'micro_batches'?",
        ),
        (
            "3",
            "three",
            ': micro_batches: expected a whole number from 1 to 1000000, got "three"',
        ),
        (
            "micro_batches: 3\n",
            "",
            ": micro_batches: expected a whole number from 1 to 1000000, got null",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nchunks: 0",
            ": chunks: expected a whole number from 1 to 1000, got 0",
        ),
        (GOOD[17:], "devices: F0 B0", ': devices: expected one list per device, got "F0 B0"'),
        (
            "- F0 F1 B0 F2 B1 B2",
            "- 7",
            ": devices[0]: expected operations, as in F0 F1 B0 B1, got 7",
        ),
        (
            "b2 W2",
            "b2 X2",
            ": devices[1][6]: expected F, B, b or W and a micro-batch, as in F3, W0.1 or F3&B1, "
            'got "X2"',
        ),
        (
            "b2 W2",
            "F9&b2",
            ': devices[1][5]: expected a pair of F and B, as in F3&B1, got "F9&b2"',
        ),
        (
            "b2 W2",
            "b2",
            ": devices[1]: no operation makes W2 (weight gradient) of device 1; add it",
        ),
        (
            "b2 W2",
            "b2 W3",
            ": devices[1][6]: W3: expected a micro-batch from 0 to 2, got 3",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nplacement: loops",
            ': placement: expected loop, v, mirror, or a list of routes, got "loops"; '
            "did you mean 'loop'?",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nplacement: mirror",
            ": chunks: expected 2 for the placement mirror, got 1",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nchunks: 2\nplacement: mirror",
            ": micro_batches: expected a number that 2 routes divide, got 3",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nplacement: [0.0 0.1]",
            ": placement: expected every chunk (1) of every device (2) once, in routes of one "
            "length; got 2 places in 1 routes",
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nplacement: [0.0 x]",
            ': placement[0]: expected device.chunk, as in 0.1, got "x"',
        ),
        (
            "micro_batches: 3",
            "micro_batches: 3\nplacement: [{}]",
            ": placement[0]: expected places, as in 0.0 1.0 1.1 0.1, got {}",
        ),
    ],
)
def test_a_list_that_is_wrong_is_told_where(old: str, new: str, told: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ConfigError) as error:
        schedules.get(path)
    assert str(error.value) == path + told


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = str(tmp_path / "none.yaml")
    with pytest.raises(ConfigError) as error:
        schedules.get(path)
    assert str(error.value) == f"{path}: cannot be read: No such file or directory"


def test_the_check_draws_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert contract.main([written(tmp_path, GOOD)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("every law holds over 1 size; 2 devices, 3 micro-batches:\n")
    assert "device 1 |" in printed
    assert contract.main([written(tmp_path, GOOD.replace("B0 F2", "F2"))]) == 2
    assert "devices[0]: no operation makes b0" in capsys.readouterr().err
