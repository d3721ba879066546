"""A seal shows that a file was changed; a file without one is read with a note."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE, cluster, scenario, write_result
from yantra.base.documents import parse_own_json, parse_yaml
from yantra.base.errors import ConfigError
from yantra.base.notes import Note
from yantra.base.seals import seal_line, seal_pieces, seal_yaml, state_of_json, state_of_yaml
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.export.stored import load_result
from yantra.run.simulate import simulate
from yantra.scenario import dump, load

LINE = '{"number": 3, "name": "é \\" sealed"}'


def test_the_seal_of_a_line_is_the_digest_of_the_bytes_before_it() -> None:
    seal = json.loads(seal_line(LINE))["sealed"]
    content = LINE[:-1].encode()
    assert seal == {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    assert json.loads(seal_line(LINE)) == json.loads(LINE) | {"sealed": seal}


@pytest.mark.parametrize("key", ["", "of this journal"])
def test_any_turned_bit_of_a_line_is_noticed(key: str) -> None:
    line = seal_line(LINE, key)
    assert state_of_json(line, key) == "whole"
    assert state_of_json(line, "of another") == "changed"
    whole = line.encode()
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        text = changed.decode(errors="surrogateescape")
        assert state_of_json(text, key) != "whole" or text == line


def test_pieces_are_sealed_as_the_whole_text_is() -> None:
    text = json.dumps({"a": [1, 2], "b": {"c": "x"}}, indent=2) + "\n"
    sealed = "".join(seal_pieces([text[:5], text[5:20], text[20:]]))
    assert sealed == "".join(seal_pieces([text]))
    assert state_of_json(sealed) == "whole"
    form = json.loads(sealed)
    length = form["sealed"]["bytes"]
    assert sha256(sealed.encode()[:length]).hexdigest() == form["sealed"]["sha256"]


def test_json_written_again_by_another_program_is_refused_and_without_its_seal_read() -> None:
    sealed = "".join(seal_pieces(['{\n  "a": 1\n}\n']))
    form = json.loads(sealed)
    for text in (json.dumps(form), json.dumps(form, indent=4), sealed.replace("1", "2", 1)):
        with pytest.raises(ConfigError, match=r"f\.json: damaged or edited"):
            parse_own_json(text, "f.json")
    assert parse_own_json('{"a": 2}', "f.json") == {"a": 2}


def test_yaml_that_was_edited_is_read_with_a_note() -> None:
    text = seal_yaml("a: 1\nb: [x]\n")
    assert state_of_yaml(text) == "whole"
    assert parse_yaml(text, "f.yaml") == {"a": 1, "b": ["x"]}
    with pytest.warns(Note, match=r"f\.yaml: was edited since Yantra wrote it"):
        assert parse_yaml(text.replace("1", "2", 1), "f.yaml") == {"a": 2, "b": ["x"]}
    with pytest.warns(Note, match="was edited"):
        assert parse_yaml(text + "c: 3\n", "f.yaml") == {"a": 1, "b": ["x"], "c": 3}
    assert state_of_yaml("a: 1\n") == "unsealed"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    def step(builder: TraceBuilder, rank: int) -> None:
        builder.collective(ALL_REDUCE, 1 << 10, after=builder.compute(duration_micros=3 + rank))

    path = tmp_path / "r.json"
    simulate(scenario(cluster(("ring", 3, 50.0, 500.0)), step), record=True).to_json(path)
    return path


def test_a_changed_result_is_refused_by_every_command_that_reads_one(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = stored.with_name("s.json")
    other.write_bytes(stored.read_bytes())
    stored.write_text(stored.read_text().replace('"makespan_ns": ', '"makespan_ns": 1', 1))
    for words in (
        ["explain", "--no-runs", "r"],
        ["run", "r"],
        ["compare", "s", "r"],
        ["plot", "links", "r", "-o", "p.svg"],
    ):
        at = {"r": str(stored), "s": str(other)}
        assert main([at.get(word, word) for word in words]) == 2
        assert f"{stored}: damaged or edited: it is not as" in capsys.readouterr().err


def test_a_result_without_a_digest_is_read_with_a_note(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form = json.loads(stored.read_text())
    makespan = load_result(stored).makespan_ns
    write_result(stored, form)
    assert load_result(stored).makespan_ns == makespan
    del form["sealed"]
    stored.write_text(json.dumps(form))
    with pytest.warns(Note, match="has no digest, so damage would not be noticed"):
        assert load_result(stored).makespan_ns == makespan
    assert main(["explain", "--no-runs", str(stored)]) == 0
    assert capsys.readouterr().err.count("warning: ") == 1  # though it is read more than once


def test_a_scenario_that_is_written_is_sealed(tmp_path: Path) -> None:
    for rank in range(2):
        TraceBuilder(rank=rank).build().write(tmp_path / f"step.{rank}.et")
    text = 'workload: {traces: "step.{rank}.et"}\ncluster: {topology: [{kind: ring, size: 2, '
    (tmp_path / "a.yaml").write_text(text + "bandwidth: 1 GB/s, latency: 1 ns}]}\n")
    read = load(tmp_path / "a.yaml")
    dump(read, tmp_path / "b.yaml")
    written = (tmp_path / "b.yaml").read_text()
    assert state_of_yaml(written) == "whole" and load(tmp_path / "b.yaml") == read
