"""The type stub of the core agrees with the built core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from yantra import _core

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "src" / "yantra" / "_core.pyi"
_CHOICE = getattr(_core, "_Choice")  # noqa: B009  # which the stub shows as enum.Enum


def test_the_stub_is_what_make_stub_writes() -> None:
    command = [sys.executable, "native/bind/stub.py", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == STUB.read_text(), "the core has changed; run `make stub`"


def test_choices_count_from_0_in_order() -> None:
    for name, value in vars(_core).items():
        if isinstance(value, type) and issubclass(value, _CHOICE) and value is not _CHOICE:
            members = value.__members__  # type: ignore[attr-defined]
            assert [choice.value for choice in members.values()] == list(range(len(members))), name
            assert [choice.name for choice in members.values()] == list(members), name


def test_a_choice_is_found_by_its_name_and_is_one_object() -> None:
    assert _core.Priority["FIFO"] is _core.Priority.FIFO
    assert _core.Priority.FIFO != _core.InterDimension.ROUND_ROBIN
    assert repr(_core.IntColumn.Kind.OTHER) == "IntColumn.Kind.OTHER"
    with pytest.raises(KeyError):
        _core.Priority["SOONER"]
    system = _core.SystemParameters()
    system.priority = _core.Priority.FIFO
    assert system.priority is _core.Priority.FIFO
    with pytest.raises(TypeError):
        system.priority = _core.MemoryLevel.NODE  # type: ignore[assignment]


def test_the_core_is_imported_without_enumerations_of_python() -> None:
    program = "import sys, yantra._core; sys.exit('enum' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
