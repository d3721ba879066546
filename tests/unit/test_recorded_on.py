"""A recording's GPU is what the file names; a command told of another one says so."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from yantra.cli.recorded_on import differences
from yantra.tracing.why.look import recorded_device

MADE_ON = {
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA A100-SXM4-80GB": "dgx-a100-80gb",
    "Tesla V100-SXM2-32GB": "v100",
    "AMD Instinct MI300X": "mi300x",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
}


def _file(folder: Path, name: str, packed: bool = False) -> str:
    form = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": name}], "traceEvents": []}
    content = json.dumps(form).encode()
    path = folder / ("a.json.gz" if packed else "a.json")
    path.write_bytes(gzip.compress(content) if packed else content)
    return str(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", MADE_ON)
def test_only_the_recorded_gpu_is_taken_without_a_word(
    name: str, packed: bool, tmp_path: Path
) -> None:
    file = _file(tmp_path, name, packed)
    assert recorded_device([file]) == name
    for gpu in MADE_ON.values():
        said = differences([file], gpu, "--from", "kernels are taken for those of")
        assert bool(said) == (gpu != MADE_ON[name]), gpu
        assert all(name in sentence and gpu in sentence for sentence in said)


def test_without_a_name_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"traceEvents": [{"name": "H100"}]}')
    for file in (str(tmp_path / "b.json"), "job.0.et", "job.yw"):
        assert recorded_device([file]) == ""
        assert not differences([file], "mi300x", "--from", "")
    assert not differences([_file(tmp_path, "AMD Instinct MI300X")], "mine.yaml", "--from", "")
