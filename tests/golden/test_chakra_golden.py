"""Traces of the golden sets (../shared/golden, or YANTRA_GOLDEN) are read as protobuf does and
written byte for byte.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracles import chakra_protobuf as oracle
from yantra import _core

ROOT = Path(os.environ.get("YANTRA_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
ARCHIVES = sorted(ROOT.glob("*/*.tar.*"))

pytestmark = pytest.mark.skipif(not ARCHIVES, reason="the golden sets are not here")


def traces_of(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith(".et"):
                content = files.extractfile(member)
                assert content is not None
                yield member.name, content.read()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.split(".")[0])
def test_golden_traces_are_read_alike_and_written_back(archive: Path) -> None:
    known: set[bytes] = set()
    for name, data in traces_of(archive):
        if data in known:
            continue
        known.add(data)
        trace = _core.decode_trace(data)
        _, nodes = oracle.parse(data)
        assert len(trace) == len(nodes), name
        assert trace.id.tolist() == [node.id for node in nodes], name
        assert trace.duration_micros.tolist() == [node.duration_micros for node in nodes], name
        assert trace.encode() == data, name
