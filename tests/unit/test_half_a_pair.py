"""Half of a surrogate pair in a recording is the replacement character: no text can hold it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.documents import json_value
from yantra.cli import main


@pytest.mark.parametrize("kind", [str, bytes])
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"a\uDFFFb"', "a\ufffdb"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\\ud800"', r"\ud800"),
        (r'{"\ud800": 1}', {"\ufffd": 1}),
    ],
)
def test_half_a_pair_is_the_replacement_character(text: str, value: object, kind: type) -> None:
    assert json_value(text if kind is str else text.encode()) == value


@pytest.mark.parametrize("key", ["time", "name"])
def test_a_linked_trace_with_half_a_pair_is_read(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.cli import example_files

    example_files.write(tmp_path)
    capsys.readouterr()
    linked = tmp_path / "linked.0.json"
    form = json.loads(linked.read_text())
    (form["nodes"][0] if key == "name" else form)[key] = "\ud800"
    linked.write_text(json.dumps(form))
    line = ["chakra", "convert", "pytorch", str(linked), "--replicate", "2", "-o"]
    assert main([*line, str(tmp_path / "made")]) == 0
