"""Ranks whose files hold the same share a graph, whatever lies between them."""

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
    """As a run usually does, unpacked, or by the decoder that knows what to say."""
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


def test_only_plain_small_files_are_read_in_the_core(tmp_path: Path) -> None:
    file, path = _core.SmallFile(), tmp_path / "file"
    name = os.fsencode(path)
    assert not file.load(name, 100)  # there is none
    path.write_bytes(content(7))
    size = path.stat().st_size
    assert file.load(name, size)
    assert (file.content(), file.hash()) == (content(7), _core.content_hash(content(7)))
    assert not file.load(name, size - 1)
    assert not file.load(name + b"\0", size)
    for other in (b"", gzip.compress(content(7)), b"{}", b' \n{"a": 1}', b"\xef\xbb\xbf{}"):
        path.write_bytes(other)
        assert not file.load(name, 100)
    path.unlink()
    os.mkfifo(path)
    assert not file.load(name, 100)
    path.unlink()
    path.mkdir()
    assert not file.load(name, 100)


def test_a_small_file_is_the_same_as_another_of_its_bytes_alone(tmp_path: Path) -> None:
    file = _core.SmallFile()
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(content(7))
    assert file.load(os.fsencode(one), 1000)
    for bytes_there, is_same in ((content(7), True), (content(8), False), (b"", False)):
        other.write_bytes(bytes_there)
        assert file.is_same(os.fsencode(other)) == is_same
        assert file.count_alike([os.fsencode(one), os.fsencode(other)]) == 1 + is_same
    assert not file.is_same(os.fsencode(tmp_path / "missing"))
    graph = file.graph(False)
    assert graph is not None
    assert list(graph.duration_micros) == [7]
