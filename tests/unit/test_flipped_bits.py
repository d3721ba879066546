"""A turned bit in a file that Yantra wrote is noticed or harmless (a sample; see fuzz/flips.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import flips
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.workloads.templates import RankClass, TemplateBuilder, Workload
from yantra.workloads.templates.grid import grid_of
from yantra.workloads.templates.workload import load


def test_a_sample_of_turned_bits_is_noticed_or_harmless(tmp_path: Path) -> None:
    flips.prepare(tmp_path)
    assert flips.play(tmp_path, 60, seed=4) == []


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    step = TraceBuilder()
    step.compute("forward", num_ops=10**12, tensor_size=2**27)
    template = TemplateBuilder()
    template.stamp(step.build(), microbatch=0, tag_base=0)
    path = tmp_path_factory.mktemp("workload") / "w.yw"
    Workload(
        grids=[grid_of(tp=2)],
        groups={},
        classes=[RankClass("train", {}, "stage0")],
        templates={"stage0": template},
    ).save(path)
    return path


def test_every_bit_of_the_headers_of_a_workload_file_is_noticed_or_harmless(
    workload: Path, tmp_path: Path
) -> None:
    whole = workload.read_bytes()
    expected = load(workload)
    content = expected.template_bytes("stage0")
    first = whole.index(b"PK\1\2")
    headers = [*range(120), *range(first, len(whole))]
    copy = tmp_path / "w.yw"
    for bit in (8 * at + place for at in headers for place in range(8)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        copy.write_bytes(changed)
        try:
            read = load(copy)
            assert read.template_bytes("stage0") == content, bit
        except ConfigError as error:
            assert str(error).startswith(str(copy)), bit
            continue
        assert (read.ranks, read.sections) == (expected.ranks, expected.sections), bit
