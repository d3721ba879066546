"""Recording traces in the core: what fits is written in order, what does not is left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from yantra import _core
from yantra.tracing.pytorch.linked import Attr

INT64, UINT64, BOOL, STRING = 9, 13, 27, 29


def recorded(fill: Callable[[_core.TraceRecorder], None]) -> list[tuple[str, int, object, str]]:
    recorder = _core.TraceRecorder()
    fill(recorder)
    recorder.node(0, "", 0, 0, 0, [], [])
    return list(recorder.finish().attributes(0))


@pytest.mark.parametrize(
    ("kind", "fits", "others"),
    [
        (INT64, [0, -(1 << 63), (1 << 63) - 1], [True, 1.0, "1", None, 1 << 63, -(1 << 63) - 1]),
        (UINT64, [0, (1 << 64) - 1], [True, 1.0, "1", None, 1 << 64, -1]),
        (BOOL, [True, False], [1, 0, None, "True"]),
        (STRING, ["", "\u00e9"], [b"", 1, None, True]),
    ],
)
def test_attributes_written_together_leave_out_what_is_not_of_its_kind(
    kind: int, fits: list[object], others: list[object]
) -> None:
    values = (*fits, *others)
    names = tuple(f"a{place}" for place in range(len(values)))
    kinds = bytes([kind] * len(values))
    found = recorded(lambda recorder: recorder.attributes(names, kinds, values))
    assert found == [(names[i], kind, value, "") for i, value in enumerate(fits)]
    with pytest.raises(RuntimeError):
        recorded(lambda recorder: recorder.attributes(names, kinds[1:], values))


def test_attributes_of_objects_are_found_by_name_in_the_order_asked_for() -> None:
    objects = [Attr("b", "", 1), Attr("x", "", 2), Attr("a", "", 3), Attr("b", "", 4)]
    names, kinds = ("a", "b", "text", "none"), bytes([INT64, INT64, STRING, INT64])
    found = recorded(lambda recorder: recorder.attributes_of(names, kinds, objects))
    assert found == [("a", INT64, 3, ""), ("b", INT64, 4, ""), ("text", STRING, "", "")]
    with pytest.raises(AttributeError):
        recorded(lambda recorder: recorder.attributes_of(names, kinds, [1]))


def test_a_node_has_its_inputs_once() -> None:
    recorder = _core.TraceRecorder()
    assert recorder.io_json(False, b'{"values": [1]}')
    assert not recorder.io_json(True, b'{"values": [')
    with pytest.raises(RuntimeError):
        recorder.io_json(False, b'{"values": [1]}')
