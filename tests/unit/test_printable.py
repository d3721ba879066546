"""Names of files reach neither the terminal's commands nor a spreadsheet's formulas."""

from __future__ import annotations

import io
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.printable import Printable, cell, cell_text, printable
from yantra.base.text import table
from yantra.chakra import Node, Trace
from yantra.cli import main

TEXTS = st.text(st.characters() | st.sampled_from("\x1b\x07\x9b\x7f\u202e\u2028\r\b\0"))
OBEYED = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\n", "\t"}


@given(TEXTS)
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    shown = printable(text)
    assert not OBEYED & set(shown)
    assert not any(unicodedata.category(one) in ("Cs", "Zl", "Zp") for one in shown)
    assert not any(unicodedata.bidirectional(one) in _TURNS for one in shown)
    assert printable(shown) == shown
    shown.encode()


_TURNS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp"))))
def test_all_other_text_stays(text: str) -> None:
    assert printable(f"{text}\n\t") == f"{text}\n\t"


@given(st.recursive(TEXTS | st.integers(), lambda one: st.lists(one) | st.dictionaries(TEXTS, one)))
def test_json_stays_the_same_json(tree: Any) -> None:
    text = json.dumps(tree, ensure_ascii=False)
    assert json.loads(printable(text)) == tree
    assert not OBEYED & set(printable(text))


def test_a_stream_is_what_it_was_but_for_what_is_written() -> None:
    out = io.StringIO()
    stream = Printable(out)
    assert stream.write("a\x1bb\n") == 4
    stream.writelines(["\x9b", "c"])
    assert out.getvalue() == "a\\x1bb\n\\u009bc"
    assert not stream.isatty()  # type: ignore[operator]


def test_columns_are_as_wide_as_what_is_shown() -> None:
    assert table(("name", "n"), [("\x1b", "1"), ("long name", "2")]) == [
        "name       n",
        "\\x1b       1",
        "long name  2",
    ]


@given(TEXTS)
def test_no_cell_begins_like_a_formula_and_each_has_its_text(text: str) -> None:
    assert not cell(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell_text(cell(text)) == text
    assert cell(text) in (text, f"'{text}")


EVIL = "=cmd|'/c x'!A1 \x1b]0;title\x07\x1b[2J"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Trace([Node(0, EVIL, duration_micros=11)]).write(tmp_path / "t.0.et")
    (tmp_path / "s.yaml").write_text(
        'workload: {traces: "t.{rank}.et"}\n'
        "cluster:\n"
        "  topology: [{kind: ring, size: 1, bandwidth: 50 GB/s, latency: 500 ns}]\n"
        "  device: {memory_bandwidth: 1 TB/s, compute: recorded}\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "chakra stats t.0.et",
        "chakra stats t.0.et --json",
        "chakra show t.0.et",
        "chakra validate t.0.et",
        "chakra diff t.0.et u.0.et",
        "chakra rewrite t.0.et",
        "run s.yaml",
        "explain s.yaml",
        "compare s.yaml s.yaml",
        "run \x1b[31m.yaml",
        "run \x1b[31m.yaml --json",
        "run s.yaml --\x1b[31m",
        "\x1b[31m",
    ],
)
def test_a_command_prints_no_name_that_a_terminal_obeys(
    line: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Trace([Node(0, EVIL, duration_micros=12)]).write(trace / "u.0.et")
    main(line.split())
    said = "".join(capsys.readouterr())
    assert said
    assert not OBEYED & set(said)
    assert isinstance(sys.stdout, io.TextIOBase)  # and not what hid them


def test_a_spreadsheet_gets_text_where_a_name_begins_like_a_formula(trace: Path) -> None:
    assert main(["run", "s.yaml", "--record", "--csv", "nodes.csv", "--table", "nodes"]) == 0
    text = (trace / "nodes.csv").read_bytes().decode()
    assert f"'{EVIL}" in text
    assert f",{EVIL}" not in text


def test_a_file_name_that_is_no_utf8_is_written_as_json_can_hold_it(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = b"b\xff.yaml".decode(errors="surrogateescape")
    (trace / name).write_text((trace / "s.yaml").read_text())
    folder = b"d\xff".decode(errors="surrogateescape")
    (trace / folder).mkdir()
    for file in ("s.yaml", "t.0.et"):
        (trace / folder / file).write_bytes((trace / file).read_bytes())
    assert main(["sweep", name, "-o", "out"]) == 0
    assert main(["run", f"{folder}/s.yaml", "-o", "x.json", "--report", "x.html"]) == 0
    assert json.loads((trace / "x.json").read_text())["inputs"].keys() == {f"{folder}/t.0.et"}
    assert main(["explain", "x.json"]) == 0
    assert main(["compare", "x.json", "out/b_.json"]) == 0
    capsys.readouterr()
    assert main(["sweep", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"] == name
