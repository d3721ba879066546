"""Trace files: found, packed, written whole or not at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from yantra import chakra
from yantra.base.errors import TraceError
from yantra.chakra import Node, Trace

TRACE = Trace([Node(7, "gemm", duration_micros=3)])


@pytest.mark.parametrize("name", ["step.0.et", "step.0.et.gz"])
def test_a_trace_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    TRACE.write(tmp_path / name)
    assert chakra.read(tmp_path / name) == TRACE
    assert chakra.read(str(tmp_path / name)) == TRACE


def test_a_name_in_gz_is_written_packed_and_any_other_plain(tmp_path: Path) -> None:
    TRACE.write(tmp_path / "a.et.gz")
    TRACE.write(tmp_path / "a.et")
    assert gzip.decompress((tmp_path / "a.et.gz").read_bytes()) == TRACE.to_bytes()
    assert (tmp_path / "a.et").read_bytes() == TRACE.to_bytes()


def test_gzip_is_known_by_content_whatever_the_name(tmp_path: Path) -> None:
    (tmp_path / "a.et").write_bytes(gzip.compress(TRACE.to_bytes()))
    assert chakra.read(tmp_path / "a.et") == TRACE


def test_equal_traces_make_equal_packed_files(tmp_path: Path) -> None:
    for name in ("one.et.gz", "two.et.gz"):
        TRACE.write(tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.et.gz", "two.et.gz"))
    assert one == two
    assert one[4:8] == bytes(4)  # no time of writing


def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.et").write_bytes(b"old")
    TRACE.write(tmp_path / "a.et")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.et"]
    assert chakra.read(tmp_path / "a.et") == TRACE


def test_a_missing_file_is_named_and_a_near_one_proposed(tmp_path: Path) -> None:
    (tmp_path / "step.0.et").write_bytes(TRACE.to_bytes())
    with pytest.raises(TraceError) as caught:
        chakra.read(tmp_path / "stpe.0.et")
    assert str(caught.value) == f"{tmp_path}/stpe.0.et: no such file; did you mean 'step.0.et'?"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        chakra.read(tmp_path / "traces" / "step.0.et")
    assert str(caught.value) == (
        f"{tmp_path}/traces/step.0.et: no such file; the folder {tmp_path}/traces does not exist"
    )


def test_a_folder_is_not_a_trace(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        chakra.read(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a folder; expected a Chakra trace file (.et)"


def test_the_path_of_a_broken_file_begins_the_text(tmp_path: Path) -> None:
    path = tmp_path / "step.0.et"
    path.write_bytes(b"")
    with pytest.raises(TraceError) as caught:
        chakra.read(path)
    assert str(caught.value) == (
        f"{path}: byte 0: the file is empty; expected a metadata record and then nodes"
    )


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(TraceError) as caught:
        Trace().write(tmp_path / "taken")
    assert str(caught.value) == f"{tmp_path}/taken: cannot be written: it is a folder"
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
