"""Workload files: deterministic, whole or not at all, opened lazily, refused exactly."""

from __future__ import annotations

import errno
import json
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_workloads import standard
from yantra.base.errors import ConfigError, YantraError
from yantra.base.notes import Note
from yantra.chakra import Node, NodeType, Trace
from yantra.workloads.templates import Workload, container, load
from yantra.workloads.templates.grid import Grid
from yantra.workloads.templates.parts import RankClass
from yantra.workloads.templates.spool import Spool


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    workload = standard(2, 2, 2)
    path = tmp_path / "x.yw"
    workload.save(path)
    return path


def _rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _with_tree(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    def rewrite(members: dict[str, bytes]) -> None:
        tree = json.loads(members["manifest.json"])
        change(tree)
        members["manifest.json"] = json.dumps(tree).encode()

    _rewritten(path, rewrite)


def _message(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path)
    return str(caught.value).replace(f"{path}", "x.yw")


def test_members_have_one_time_and_no_marks_of_the_machine(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        names = archive.namelist()
        assert names == ["manifest.json", "templates/stage0.et", "templates/stage1.et"]
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert (info.create_system, info.external_attr) == (3, 0o100644 << 16)


def test_opening_a_file_reads_no_template(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = container.read_template
    monkeypatch.setattr(
        container,
        "read_template",
        lambda path, name, *of: read.append(name) or original(path, name, *of),
    )
    workload = load(saved)
    assert (workload.ranks, workload.class_of(7).template, read) == (8, "stage1", [])
    assert workload.totals["stage0"]["nodes"] > 0
    assert read == []
    workload.trace(7)
    workload.trace(6)
    assert read == ["stage1"]


def test_sections_come_back_as_they_were(tmp_path: Path) -> None:
    plain = standard(2, 1, 1)
    sections = {
        "about": {"model": "é", "n": [1, None, 2.5]},
        "memory": {"stage0": {"peak_bytes": 5}},
        "schedule": "0 F\n1  F",
        "notes": ["a"],
    }
    templates = {name: plain.template_bytes(name) for name in plain.templates}
    Workload(
        grids=plain.grids,
        groups=plain.groups,
        classes=plain.classes,
        templates=templates,
        sections=sections,
    ).save(tmp_path / "a.yw")
    again = load(tmp_path / "a.yw")
    assert {key: again.sections[key] for key in sections} == sections
    assert (again.about, again.memory) == (sections["about"], sections["memory"])
    assert again.schedule == "0 F\n1  F"


def test_a_section_that_is_not_json_is_refused_and_no_file_is_left(tmp_path: Path) -> None:
    plain = standard(2, 1, 1)
    templates = {name: plain.template_bytes(name) for name in plain.templates}
    broken = Workload(
        grids=plain.grids,
        groups=plain.groups,
        classes=plain.classes,
        templates=templates,
        sections={"notes": {1, 2}},
    )
    with pytest.raises(ConfigError, match="manifest: a section is not JSON"):
        broken.save(tmp_path / "a.yw")
    assert list(tmp_path.iterdir()) == []


TREES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "format": (
        lambda t: t.update(format="zip"),
        'format: expected "yantra-workload", got "zip"',
    ),
    "newer": (
        lambda t: t.update(version=2),
        "version: expected 1, got 2; a newer Yantra wrote the file: update Yantra",
    ),
    "older": (lambda t: t.update(version=0), "version: expected 1, got 0"),
    "no version": (lambda t: t.pop("version"), "version: expected 1, got null"),
    "no classes": (lambda t: t.pop("classes"), "classes: missing"),
    "ranks": (lambda t: t.update(ranks=9), "ranks: 9, but the grids hold 8"),
    "ranks as text": (
        lambda t: t.update(ranks="8"),
        'ranks: expected a whole number from 1, got "8"',
    ),
    "an ordering": (
        lambda t: t.update(ordering="serail"),
        'ordering: expected one of serial, streams, got "serail"',
    ),
    "grids": (lambda t: t.update(grids={}), "grids: expected a list, got {}"),
    "a grid": (lambda t: t.update(grids=[3]), "grids[0]: expected a mapping, got 3"),
    "axes": (
        lambda t: t["grids"][0]["views"].update(dense=[["tp"]]),
        'grids[0].views.dense: expected pairs such as ["tp", 8], got [["tp"]]',
    ),
    "a size": (
        lambda t: t["grids"][0]["views"].update(dense=[["tp", 0]]),
        "grids.train.views.dense.tp: must be a whole number above 0; got 0",
    ),
    "views": (
        lambda t: t["grids"][0]["views"].update(dense=[["tp", 4]]),
        "grids.train.views: they must hold equally many ranks; got dense 4, expert 8",
    ),
    "a group": (
        lambda t: t["groups"]["tp"].pop("axes"),
        "groups.tp.axes: missing",
    ),
    "where": (
        lambda t: t["groups"]["tp"].update(where={"tp": ["0"]}),
        'groups.tp.where.tp: expected coordinates, got ["0"]',
    ),
    "where beyond": (
        lambda t: t["groups"]["tp"].update(where={"tp": [0, 5]}),
        "groups.tp: 'where': tp is 0 to 1; got 5",
    ),
    "a class": (
        lambda t: t["classes"][0].update(select={"pp": "0"}),
        'classes[0].select.pp: expected coordinates, got "0"',
    ),
    "no class for some": (
        lambda t: t["classes"].pop(),
        "classes: none runs templates/stage1.et",
    ),
    "a class that another hides": (
        lambda t: t["classes"][1].update(select={"pp": 0}),
        "classes: none matches rank 4 of grid 'train' (pp=1)",
    ),
    "a template": (
        lambda t: t["classes"][0].update(template="stage"),
        "classes[0].template: there is no templates/stage.et; did you mean 'stage0'?",
    ),
}


@pytest.mark.parametrize("why", TREES)
def test_a_wrong_manifest_is_refused_exactly(saved: Path, why: str) -> None:
    change, text = TREES[why]
    _with_tree(saved, change)
    assert _message(saved) == f"x.yw: manifest.json: {text}"


def _with_more(tree: dict[str, Any]) -> None:
    tree["later"] = {"a": [1]}
    tree["grids"][0]["nmae"] = ""
    tree["classes"][0]["x\x1b[2J"] = 1
    tree["even"] = tree["more"] = 0


def test_what_a_newer_version_added_is_left_out_and_told(saved: Path) -> None:
    usual = load(saved)
    _with_tree(saved, _with_more)
    with pytest.warns(Note) as told:
        other = load(saved)
    assert (other.ranks, other.grids, other.classes) == (usual.ranks, usual.grids, usual.classes)
    (text,) = [str(one.message).partition("x.yw: ")[2] for one in told]
    assert text == (
        "manifest.json: left out what this version of Yantra does not know: later, even, more "
        "and 2 more"
    )
    for change, shown in ((_misspelt, "ordring; did you mean 'ordering'?"), (_hostile, '"\\u001b')):
        _with_tree(saved, change)
        with pytest.warns(Note) as told:
            load(saved)
        assert shown in str(told[0].message) and "\x1b" not in str(told[0].message)


def _misspelt(tree: dict[str, Any]) -> None:
    for key in ("later", "even", "more"):
        tree.pop(key, None)
    tree["ordring"] = "streams"


def _hostile(tree: dict[str, Any]) -> None:
    tree.pop("ordring")
    tree["\x1b[2J"] = 1


def test_members_that_a_newer_version_added_are_left_out_and_told(saved: Path) -> None:
    usual = load(saved)
    more = {"readme": b"", "templates/a/b.et": b"", "figures/one.json": b"{}"}
    _rewritten(saved, lambda members: members.update(more))
    with pytest.warns(Note, match="does not know: ") as told:
        other = load(saved)
    assert str(other.trace(0).to_bytes()) == str(usual.trace(0).to_bytes())
    assert all(repr(name)[1:-1] in str(told[0].message) for name in more)


MEMBERS: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "no manifest": (lambda m: m.pop("manifest.json"), "x.yw: manifest.json: missing"),
    "no template": (
        lambda m: m.pop("templates/stage1.et"),
        "x.yw: manifest.json: classes[1].template: there is no templates/stage1.et; "
        "did you mean 'stage0'?",
    ),
    "not JSON": (
        lambda m: m.update({"manifest.json": b'{"a":\n}'}),
        "x.yw: manifest.json, line 2, column 1: not JSON: expecting value",
    ),
    "a key twice": (
        lambda m: m.update({"manifest.json": b'{"a": 1, "a": 2}'}),
        'x.yw: manifest.json: "a": given twice',
    ),
    "not UTF-8": (
        lambda m: m.update({"manifest.json": b"\xff"}),
        "x.yw: manifest.json: not UTF-8 text at byte 0",
    ),
    "a list": (
        lambda m: m.update({"manifest.json": b"[]"}),
        "x.yw: manifest.json: expected a mapping, got []",
    ),
}


@pytest.mark.parametrize("why", MEMBERS)
def test_wrong_members_are_refused_exactly(saved: Path, why: str) -> None:
    change, text = MEMBERS[why]
    _rewritten(saved, change)
    assert _message(saved) == text


def test_a_file_cut_short_is_refused_at_every_byte(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    short = tmp_path / "short.yw"
    for end in range(0, len(data), 97):
        short.write_bytes(data[:end])
        with pytest.raises(ConfigError, match=r"short\.yw: not a workload file, or cut off"):
            load(short)


def test_a_damaged_template_is_refused_when_it_is_read(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    at = data.index(b"templates/stage1.et") + 60
    data[at] ^= 0xFF
    saved.write_bytes(bytes(data))
    workload = load(saved)
    with pytest.raises(YantraError, match=r"x\.yw: templates/stage1\.et: damaged"):
        workload.trace(7)
    workload.trace(0)


def test_a_missing_file_is_named_with_the_one_probably_meant(saved: Path) -> None:
    with pytest.raises(ConfigError, match=r"y\.yw: no such file; did you mean 'x\.yw'\?"):
        load(saved.with_name("y.yw"))
    with pytest.raises(ConfigError, match="cannot be read"):
        load(saved.parent)


def test_a_template_that_comes_in_pieces_is_written_as_one_that_is_whole(tmp_path: Path) -> None:
    whole = standard(2, 2, 2)
    parts: dict[str, Any] = {
        "grids": whole.grids,
        "groups": whole.groups,
        "classes": whole.classes,
        "sections": whole.sections,
    }

    def pieces(name: str) -> Iterator[bytes]:
        trace = whole.template(name)
        for at in range(0, len(trace), 3):
            piece = Trace(trace[one] for one in range(at, min(at + 3, len(trace)))).to_bytes()
            yield piece.removeprefix(b"\0") if at else Trace((), trace.metadata).to_bytes()
            yield b"" if at else piece.removeprefix(b"\0")

    spools = {name: Spool(pieces(name)) for name in whole.templates}
    made = Workload(templates=spools, **parts)
    assert made.totals == whole.totals
    made.save(tmp_path / "pieces.yw")
    whole.save(tmp_path / "whole.yw")
    assert (tmp_path / "pieces.yw").read_bytes() == (tmp_path / "whole.yw").read_bytes()
    assert pickle.loads(pickle.dumps(made)).trace(3) == made.trace(3) == whole.trace(3)


def test_a_template_in_pieces_is_never_whole_in_memory(tmp_path: Path) -> None:
    size = {"op": [7] * 100_000}
    piece = Trace([Node(1, str(size), NodeType.COMP)]).to_bytes().removeprefix(b"\0")
    grid = Grid("all", 0, {"view": (("rank", 8),)})
    tracemalloc.start()
    try:
        spool = Spool(chain([Trace().to_bytes()], repeat(piece, 40)))
        Workload(
            grids=[grid],
            groups={},
            classes=[RankClass("all", {}, "rank")],
            templates={"rank": spool},
        ).save(tmp_path / "large.yw")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert spool.size > 40 * len(str(size))
    assert peak < spool.size / 2


def test_a_folder_without_room_for_a_template_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("yantra.workloads.templates.spool.TemporaryFile", full)
    with pytest.raises(ConfigError, match=r"template: .*No space left on device; set TMPDIR"):
        Spool([Trace().to_bytes()])
