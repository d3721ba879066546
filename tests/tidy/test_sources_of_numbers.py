"""Every number of the package's device files has its source beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from yantra.compute.families.machine import GPUS

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "yantra"
DIES = sorted((PACKAGE / "compute" / "devices" / "dies").glob("*.yaml"))
_TEXTS = ("name", "source", "vendor")


@pytest.mark.parametrize("path", DIES, ids=lambda path: path.stem)
def test_every_number_of_a_device_file_has_a_source_beside_it(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    known = set(re.findall(r"\[(\w+)\] \w", "\n".join(one for one in lines if one[:1] == "#")))
    used = set()
    for line in lines:
        key, _, value = line.partition(": ")
        if line.startswith("#") or key in _TEXTS:
            continue
        number, _, beside = value.partition("  # ")
        named = set(re.findall(r"\[(\w+)\]", beside))
        assert re.search(r"\d", number) and named, f"{path.name}: {key} has no source beside it"
        assert named <= known, f"{path.name}: {key} names an unknown source"
        used |= named
    assert used == known


def test_every_gpu_with_tables_says_where_its_rates_are_from() -> None:
    assert [gpu.name for gpu in GPUS.values() if len(gpu.source) < 10] == []
