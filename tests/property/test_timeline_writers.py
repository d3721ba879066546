"""What the core's writers of timelines write, read back by independent readers."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.timelines import Timeline, read_chrome, read_perfetto
from yantra import _core

ABSENT = 2**64 - 1
WHOLE, REAL, TEXT = _core.ArgumentKind.WHOLE, _core.ArgumentKind.REAL, _core.ArgumentKind.TEXT
FORMS = {
    "perfetto": (_core.PerfettoWriter, read_perfetto),
    "chrome": (_core.ChromeWriter, read_chrome),
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WHOLES = st.integers(0, 2**64 - 2)
REALS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[int, int, list[int]]]:
    time = draw(st.integers(0, 2**40))
    found = []
    for _ in range(draw(st.integers(0, 5))):
        start = time + draw(st.integers(0, 3))
        time = start + draw(st.integers(0, 2000))
        within = draw(st.lists(st.integers(start, time), max_size=3))
        found.append((start, time, sorted(within)))
    return found


def _column(values: list[Any]) -> Any:
    return np.array(values, np.uint64)


def _ends(columns: list[Any], arguments: list[_core.Argument]) -> _core.MessageEnds:
    slice_, time, name, flow, arrives = columns
    return _core.MessageEnds(
        slice=slice_, time=time, name=name, flow=flow, arrives=arrives, arguments=arguments
    )


def _bits(value: float) -> int:
    number: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return number


def _whole(value: int, form: str) -> Any:
    return str(value) if form == "chrome" and value > 2**53 else value


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_what_is_written_is_read_back(form: str, data: st.DataObject) -> None:
    make, read = FORMS[form]
    writer = make()
    writer.process(1, 7, data.draw(TEXTS, "process"), 3)
    tracks = data.draw(st.lists(st.tuples(TEXTS, rows()), min_size=1, max_size=3), "tracks")
    expected = []
    flow = 0
    ends = []
    columns: list[list[Any]] = [[] for _ in range(8)]
    for number, (track, slices) in enumerate(tracks, start=2):
        writer.track(number, 1, track, "about it")
        for start, end, within in slices:
            name, category, text = (data.draw(TEXTS) for _ in range(3))
            whole, real = data.draw(st.none() | WHOLES), data.draw(REALS)
            args: dict[str, Any] = {"real": real, "text": text}
            if whole is not None:
                args["whole"] = _whole(whole, form)
            flows = []
            for time in within:
                flow += 1
                flows.append((time, flow))
                ends.append((len(columns[0]), time, writer.text("to it"), flow, flow % 2))
            expected.append((number, name, category, start, end, args, flows))
            row = (number, name, category, start, end, whole, real, text)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
    track_of, names, categories, starts, stops, wholes, reals, texts = columns
    named = [writer.text(text) for text in texts]
    arguments = [
        (writer.text("whole"), WHOLE, _column([ABSENT if v is None else v for v in wholes])),
        (writer.text("real"), REAL, _column([_bits(value) for value in reals])),
        (writer.text("text"), TEXT, _column(named)),
    ]
    slices = _core.Slices(
        track=_column(track_of),
        name=_column([writer.text(name) for name in names]),
        category=_column([writer.text(category) for category in categories]),
        start=_column(starts),
        end=_column(stops),
        arguments=[_core.Argument(*argument) for argument in arguments],
    )
    sizes = _core.Argument(writer.text("size"), WHOLE, _column(list(range(len(ends)))))
    writer.slices(slices, _ends([_column([end[at] for end in ends]) for at in range(5)], [sizes]))
    counted = data.draw(st.lists(st.tuples(st.integers(0, 2**40), REALS), max_size=4), "counter")
    writer.counter(99, 1, "full", "%")
    writer.values(99, _column([t for t, _ in counted]), np.array([v for _, v in counted], float))
    writer.finish()
    timeline = read(writer.take())
    assert _told(timeline) == sorted(expected, key=lambda row: (row[3], row[0]))
    assert timeline.counters.get((7, "full (%)"), []) == sorted(counted, key=lambda pair: pair[0])
    assert sorted(i.args["size"] for i in timeline.instants) == list(range(flow))
    assert {i.flow for i in timeline.instants if i.leaves} == set(range(2, flow + 1, 2))


def _told(timeline: Timeline) -> list[tuple[Any, ...]]:
    found = [
        (
            slice.track,
            slice.name,
            slice.category,
            slice.start,
            slice.end,
            slice.args,
            [(instant.time, instant.flow) for instant in slice.inner],
        )
        for slice in timeline.slices
    ]
    return sorted(found, key=lambda row: (row[3], row[0]))


@pytest.mark.parametrize("form", FORMS)
def test_a_writer_refuses_what_no_viewer_could_show(form: str) -> None:
    make, _ = FORMS[form]

    def write(start: int, end: int, moment: int) -> None:
        writer = make()
        writer.process(1, 0, "rank 0", 0)
        writer.track(2, 1, "compute")
        one = _column([writer.text("x")])
        ends = _ends([_column([0]), _column([moment]), one, _column([1]), _column([0])], [])
        begin, stop = _column([start]), _column([end])
        slices = _core.Slices(
            track=_column([2]), name=one, category=one, start=begin, end=stop, arguments=[]
        )
        writer.slices(slices, ends)

    write(3, 5, 5)
    with pytest.raises(Exception, match="ends before it starts"):
        write(5, 3, 4)
    with pytest.raises(Exception, match="outside its slice"):
        write(3, 5, 6)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 9)), max_size=30))
def test_rows_hold_slices_one_after_the_other_and_are_as_few_as_can_be(
    slices: list[tuple[int, int, int]],
) -> None:
    track = [slice[0] for slice in slices]
    start = [slice[1] for slice in slices]
    end = [begin + length for _, begin, length in slices]
    found = _core.rows_of(_column(track), _column(start), _column(end))
    order, row = list(found.order), list(found.row)
    assert order == sorted(range(len(slices)), key=lambda at: (track[at], start[at], end[at], at))
    until: dict[tuple[int, int], int] = {}
    for at in order:
        place = (track[at], row[at])
        assert until.get(place, 0) <= start[at]
        until[place] = end[at]
    for which in set(track):
        of = [at for at in range(len(slices)) if track[at] == which]
        moments = {start[at] for at in of}
        most = max(sum(start[at] <= now < end[at] for at in of) for now in moments)
        brief = any(start[at] == end[at] for at in of)
        assert most <= max(row[at] for at in of) + 1 <= max(most + brief, 1)
