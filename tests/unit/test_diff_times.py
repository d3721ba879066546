"""The priced difference of two recordings: rows add up to it, and operators meet their own."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.gpu_program import Options, write_pair
from tests.oracles.small_traces import call, kernel, op
from yantra.chakra import Trace
from yantra.cli import main
from yantra.tracing.inspect.diff.times import Times, times
from yantra.tracing.pytorch.in_memory import trace_of

Events = list[dict[str, Any]]
Captured = pytest.CaptureFixture[str]


def _write(path: Path, events: Events) -> str:
    path.write_text(json.dumps({"traceEvents": events}))
    return str(path)


def _model(own: str, us: tuple[float, float], extra: bool = False) -> Events:
    """Two layers, each a convolution of a library and an addition, whose kernels take `us`."""
    made: Events = []
    number = 0
    for layer in range(2):
        start = 1000.0 + 500 * layer
        made.append(op(10 * layer + 1, "aten::convolution", start, 40))
        made.append(op(10 * layer + 2, own, start + 5, 30))
        made.append(op(10 * layer + 3, "aten::add", start + 50, 20))
        for at, (length, name) in enumerate(zip(us, ("conv", "add"), strict=True)):
            number += 1
            begin = start + (8, 55)[at]
            made.append(call("cudaLaunchKernel", begin, 4, number))
            made.append(kernel(start + 100 + 150 * at, length, number, name=f"{own} {name}"))
    if extra:
        made.append(op(90, "aten::softmax", 1990, 10))
    return made


def _sum(of: Times) -> int:
    rows = sum(row.difference_ns for row in of.rows)
    alone = sum(one.ns for one in of.alone[1]) - sum(one.ns for one in of.alone[0])
    return rows + alone + sum(b - a for a, b in of.other.values())


def test_libraries_of_two_machines_meet_under_their_caller(tmp_path: Path) -> None:
    a = _write(tmp_path / "a.json", _model("aten::cudnn_convolution", (100, 30)))
    b = _write(tmp_path / "b.json", _model("aten::miopen_convolution", (140, 20), extra=True))
    found = times(trace_of(a), trace_of(b), (a, b))
    rows = {row.path: row for row in found.rows}
    both = "aten::cudnn_convolution / aten::miopen_convolution"
    convolution = rows["aten::convolution", both]
    assert (convolution.calls, convolution.device_ns) == (2, (200_000, 280_000))
    addition = rows[("aten::add",)]
    assert (addition.calls, addition.device_ns) == (2, (60_000, 40_000))
    assert not found.alone[0]
    ((softmax),) = found.alone[1]
    assert (softmax.path, softmax.calls, softmax.ns) == (("aten::softmax",), 1, 10_000)
    assert _sum(found) == found.difference_ns and not found.equal


@pytest.mark.parametrize("seed", range(6))
def test_rows_add_up_to_the_difference_of_the_windows(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    made: list[tuple[str, Trace]] = []
    for name in "ab":
        folder = tmp_path / name
        folder.mkdir()
        options = Options(collectives=draw.random() < 0.5, side_thread=draw.random() < 0.5)
        write_pair(folder, operators=draw.randint(5, 60), seed=draw.randint(0, 99), options=options)
        path = str(folder / "device.json")
        made.append((path, trace_of(path)))
    (a, first), (b, second) = made
    found = times(first, second, (a, b))
    assert _sum(found) == found.difference_ns
    for at in (0, 1):
        whole = sum(row.ns[at] for row in found.rows) + sum(one.ns for one in found.alone[at])
        assert whole + sum(pair[at] for pair in found.other.values()) == found.window_ns[at]
    turned = times(second, first, (b, a))
    assert turned.difference_ns == -found.difference_ns
    same = times(first, first, (a, a))
    assert same.equal and same.alone == ([], []) and not same.difference_ns


def test_the_command_prices_recordings_and_converted_traces_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    _write(Path("a.json"), _model("aten::cudnn_convolution", (100, 30)))
    _write(Path("b.json"), _model("aten::cudnn_convolution", (150, 30)))
    assert main(["chakra", "diff", "a.json", "b.json"]) == 1
    said = capsys.readouterr().out
    assert "aten::convolution > aten::cudnn_convolution" in said
    assert " +100 us" in said or "+100.000 us" in said
    assert main(["chakra", "diff", "a.json", "b.json", "--json"]) == 1
    form = json.loads(capsys.readouterr().out)
    for name in "ab":
        assert main(["chakra", "convert", f"{name}.json", "-o", f"{name}.et"]) == 0
    capsys.readouterr()
    assert main(["chakra", "diff", "a.et", "b.et", "--times", "--json"]) == 1
    converted = json.loads(capsys.readouterr().out)
    assert form["operators"] == converted["operators"] and form["other"] == converted["other"]
    assert main(["chakra", "diff", "a.json", "a.et"]) == 0
    assert main(["chakra", "diff", "a.json", "b.json", "--ignore", "name"]) == 2


def test_a_trace_without_times_has_no_price(tmp_path: Path, capsys: Captured) -> None:
    from yantra.chakra import TraceBuilder

    made = TraceBuilder()
    made.compute("one", duration_micros=3)
    made.build().write(tmp_path / "a.et")
    assert main(["chakra", "diff", *[str(tmp_path / "a.et")] * 2, "--times"]) == 2
    assert "expected recorded times" in capsys.readouterr().err


def test_kernels_without_operators_meet_by_name(tmp_path: Path) -> None:
    sides = []
    for name, us in (("a", 40), ("b", 70)):
        kernels = [
            kernel(1000 + 100 * at, us if at == 1 else 40, 0, name=f"k{at}") for at in range(3)
        ]
        sides.append(_write(tmp_path / f"{name}.json", kernels))
    found = times(trace_of(sides[0]), trace_of(sides[1]), (sides[0], sides[1]))
    assert {row.path: row.difference_ns for row in found.rows if row.difference_ns} == {
        ("k1",): 30_000
    }
