"""Ranks whose files hold the same share a graph, whatever lies between them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import TraceBuilder
from yantra.compile.graphs import load_graphs
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
