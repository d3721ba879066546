"""The pictures of `yantra ui` show the run: memory adds up, blanks are the bubble."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

import yantra
from yantra.export.report.markup import Html
from yantra.export.report.run import Run
from yantra.result import Result
from yantra.ui import step_picture, worker
from yantra.ui.answer import ABOUT, answer
from yantra.ui.controls import ABOUT as OF_CONTROLS
from yantra.ui.controls import Offered, first, names
from yantra.ui.memory_picture import memory, needs_of
from yantra.ui.rows import bar_row
from yantra.ui.step_picture import idle, merged, shapes, step


def ran(**plan: object) -> Result:
    given = {"tp": 2, "pp": 4, "global_batch": 16} | plan
    return yantra.predict("llama3-8b", ranks=16, cluster="hgx-h100", sequence=2048, **given).result


def test_merged_spans_cover_what_the_spans_cover() -> None:
    draw = Random(3)
    for _ in range(50):
        spans = [(at, at + draw.randrange(1, 9)) for at in (draw.randrange(60) for _ in range(12))]
        start, end = merged(*(np.array(side) for side in zip(*spans, strict=True)), 0)
        covered = {point for begin, past in spans for point in range(begin, past)}
        assert sum(end - start) == len(covered)
        assert all(start[1:] > end[:-1])
        wide = merged(start, end, 3)
        assert all(wide[0][1:] - wide[1][:-1] > 3)
        assert set(wide[0]) <= set(start) and set(wide[1]) <= set(end)


@pytest.mark.parametrize(
    "plan", [{}, {"schedule": "zb-h1"}, {"vpp": 2}, {"schedule": "dualpipe"}, {"recompute": "full"}]
)
def test_what_is_blank_is_the_bubble(plan: dict[str, object]) -> None:
    result = ran(**plan)
    run = Run(result)
    mean = sum(idle(run, one) * one.size for one in run.classes) / result.model.ranks
    assert mean == pytest.approx(result.figures.bubble, rel=1e-9)
    assert f"idle {100 * idle(run, run.classes[0]):.1f} %" in step(run)


@pytest.mark.parametrize(
    ("plan", "passes"), [({}, 8), ({"vpp": 2}, 16), ({"recompute": "full"}, 8)]
)
def test_every_micro_batch_goes_forward_and_backward_once(
    plan: dict[str, object], passes: int
) -> None:
    run = Run(ran(**plan))
    for every in shapes(run, run.classes):
        for kind in ("forward", "dgrad"):
            what = [shape.what for shape in every if shape.kind == kind]
            assert len(set(what)) == len(what) == passes, kind
        begins = {shape.what: shape.start[0] for shape in every}
        for what, start in begins.items():
            if what.startswith("backward"):
                assert start > begins[what.replace("backward", "forward")]


def test_gradients_of_weights_are_apart_only_where_the_schedule_has_them_so() -> None:
    for plan, is_apart in (({}, False), ({"schedule": "zb-h1"}, True)):
        run = Run(ran(**plan))
        every = next(shapes(run, run.classes))
        apart = [one.what for one in every if one.kind == "wgrad"]
        assert any("of micro-batch" in what for what in apart) is is_apart


def test_a_picture_of_many_pieces_has_one_shape_for_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(ran(global_batch=8))
    assert step(run).count("<rect") > 64
    monkeypatch.setattr(step_picture, "_MOST_NAMED", 8)
    drawn = step(run)
    assert "<rect" not in drawn and drawn.count("<path") <= 4 * 5
    monkeypatch.setattr(step_picture, "_MOST_NODES", 10)
    assert "Not drawn" in step(run)


def test_the_parts_of_memory_add_up_to_what_a_stage_needs() -> None:
    result = ran()
    made = result.model.graphs.workload  # type: ignore[union-attr]
    peaks = made.peaks()
    for name, peak in peaks.items():
        assert sum(needs_of(made, name, None).values()) == peak
    drawn = memory(made, result.model.scenario.machine)
    widths = [float(width) for width in re.findall(r'width="([\d.]+)%"', drawn.split("bar-row")[1])]
    machine = result.model.scenario.machine
    assert machine.memory_bytes and machine.reserve_bytes
    held = peaks["stage0"] + machine.reserve_bytes
    assert sum(widths) == pytest.approx(100 * held / machine.memory_bytes, abs=0.01)
    assert "reserved" in drawn and "free" in drawn


def test_what_does_not_fit_goes_beyond_the_line_of_the_capacity() -> None:
    form = first() | {"model": "llama3-70b", "tp": "1"}
    told = worker.answer({"act": "run", "form": form}, worker.Room("", Offered()))["told"]
    assert told["error"].startswith("--cluster: hgx-h100 has 80 GiB on each device")
    edges = re.findall(r'<line x1="([\d.]+)%"', told["pictures"]["memory"])
    assert len(edges) == 1 and 0 < float(edges[0]) < 100
    lacks = re.search(r"lacks ([\d.]+) GiB", told["pictures"]["memory"])
    needs = re.search(r"need ([\d.]+) GiB", told["error"])
    assert lacks and needs and float(needs[1]) - 80 == pytest.approx(float(lacks[1]), abs=0.02)
    ran = worker.answer(
        {"act": "run", "form": form | {"ignore_memory": "yes"}}, worker.Room("", Offered())
    )["told"]
    assert ran["pictures"]["memory"] == told["pictures"]["memory"]


def test_every_figure_and_every_control_says_what_it_means() -> None:
    told = answer(ran())
    assert all(about for _, _, about in told["lines"]) and len(told["lines"]) >= 6
    assert {name for name, _, _ in told["lines"]} <= set(ABOUT)
    assert set(OF_CONTROLS) == set(first()) and set(names(Offered())) < set(first())
    assert told["pictures"].keys() == {"time", "memory", "step"}
    shares = [share for _, share, _ in told["gains"]]
    assert shares and all(0 < share <= 1 for share in shares)


def test_names_of_users_are_text_in_pictures() -> None:
    drawn = bar_row("<b>mine</b>", "<i>1</i>", Html("<svg></svg>"))
    assert "<b>" not in drawn and "<i>" not in drawn and "<svg></svg>" in drawn
