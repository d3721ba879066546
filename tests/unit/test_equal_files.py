"""Ranks whose files hold the same share a graph, whatever is between them."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import Metadata, Node, Trace, TraceBuilder
from yantra.compile.graphs import load_graphs, read
from yantra.scenario.quirks import Quirk
from yantra.scenario.types import ChakraFiles


def content(micros: int) -> bytes:
    builder = TraceBuilder()
    builder.compute(duration_micros=micros)
    return builder.build().to_bytes()


def write(folder: Path, kinds: list[int]) -> ChakraFiles:
    for rank, kind in enumerate(kinds):
        (folder / f"w.{rank}.et").write_bytes(content(kind))
    return ChakraFiles(prefix=str(folder / "w"))


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 20)), min_size=1, max_size=6))
def test_ranks_share_a_graph_exactly_when_their_files_are_equal(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, int]]
) -> None:
    kinds = [kind for kind, length in runs for _ in range(length)]
    graphs = load_graphs(write(tmp_path_factory.mktemp("w"), kinds), len(kinds), frozenset())
    assert len(graphs.by_rank) == len(kinds)
    assert len(graphs.distinct) == len(set(kinds))
    assert [graphs.of(rank).duration_micros[0] for rank in range(len(kinds))] == kinds


def test_counting_equal_files_ends_at_what_is_no_such_file(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c", "d")]
    for path in (paths[0], paths[1]):
        path.write_bytes(b"content")
    names = [os.fsencode(path) for path in paths]
    assert _core.count_alike(names, b"content") == 2
    os.mkfifo(paths[2])
    assert _core.count_alike(names, b"content") == 2
    paths[2].unlink()
    paths[2].write_bytes(b"contents")
    assert _core.count_alike(names, b"content") == 2
    paths[2].unlink()
    paths[2].mkdir()
    assert _core.count_alike(names, b"") == 0
    assert _core.count_alike(names, b"content") == 2


def test_a_file_that_is_missing_among_equal_ones_is_named(tmp_path: Path) -> None:
    files = write(tmp_path, [1] * 12)
    (tmp_path / "w.9.et").unlink()
    with pytest.raises(TraceError, match=r"w\.9\.et: no such file; the cluster has 12 ranks"):
        load_graphs(files, 12, frozenset())


def two_of_one_id() -> bytes:
    return Trace([Node(3, "a", 4, 5), Node(3, "b", 4, 6)], Metadata("1")).to_bytes()


def test_a_file_is_read_alike_on_every_way(tmp_path: Path) -> None:
    plain, doubled = content(7), two_of_one_id()
    ways = [plain, gzip.compress(plain), doubled, gzip.compress(doubled), plain, doubled]
    for rank, some in enumerate(ways):
        (tmp_path / f"w.{rank}.et").write_bytes(some)
    quirks = frozenset({Quirk.DUPLICATE_IDS_MERGE})
    graphs = load_graphs(ChakraFiles(prefix=str(tmp_path / "w")), len(ways), quirks)
    assert list(graphs.by_rank) == [0, 0, 1, 1, 0, 1]
    for at, some in enumerate((plain, doubled)):
        expected = read(some, "a file", quirks)
        found = graphs.distinct[at]
        assert list(found.id) == list(expected.id)
        assert list(found.duration_micros) == list(expected.duration_micros)
        assert len(found.diagnostics) == len(expected.diagnostics)


def read_one(files: _core.KnownFiles, path: Path, most_bytes: int) -> tuple[int, list[int]] | None:
    numbers, graphs, ranks = files.read(os.fsencode(path.with_name("w")), 0, 1, most_bytes, False)
    assert len(graphs) == len(ranks) <= len(numbers) <= 1
    return (numbers[0], [graph.duration_micros[0] for graph in graphs]) if numbers else None


def test_only_plain_small_files_are_read_in_the_core(tmp_path: Path) -> None:
    files, path = _core.KnownFiles(), tmp_path / "w.0.et"
    assert read_one(files, path, 100) is None  # there is none
    path.write_bytes(content(7))
    size = path.stat().st_size
    assert read_one(files, path, size - 1) is None
    assert read_one(files, path, size) == (0, [7])
    assert read_one(files, path, size) == (0, [])
    assert files.read(os.fsencode(tmp_path / "w\0"), 0, 1, size, False) == ([], [], [])
    for other in (b"", gzip.compress(content(7)), b"{}", b' \n{"a": 1}', b"\xef\xbb\xbf{}"):
        path.write_bytes(other)
        assert read_one(files, path, 100) is None
    path.unlink()
    os.mkfifo(path)
    assert read_one(files, path, 100) is None
    path.unlink()
    path.mkdir()
    assert read_one(files, path, 100) is None


def test_a_small_file_has_the_number_of_what_was_known_of_its_bytes(tmp_path: Path) -> None:
    files, path = _core.KnownFiles(), tmp_path / "w.0.et"
    kept, there = content(7), tmp_path / "there"
    there.write_bytes(content(8))
    assert files.add(_core.content_hash(kept), b"nowhere", kept) == 0
    assert files.add(_core.content_hash(content(8)), os.fsencode(there), None) == 1
    assert files.add(_core.content_hash(content(9)), os.fsencode(there), None) == 2
    assert files.add(_core.content_hash(content(9)), b"nowhere", kept) == 3
    for micros, number, durations in ((7, 0, []), (8, 1, []), (9, 4, [9]), (10, 5, [10])):
        path.write_bytes(content(micros))
        assert read_one(files, path, 1000) == (number, durations)
    assert files.alike(_core.content_hash(kept)) == [(0, b"nowhere", kept)]
    assert len(files.alike(_core.content_hash(content(9)))) == 3
