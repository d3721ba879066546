"""`yantra trace record` on a script that trains."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.torch.conftest import run
from tests.torch.test_collect_scripts import HEAD

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


def test_a_command_is_recorded_linked_and_looked_at_once(tmp_path: Path) -> None:
    script, folder = tmp_path / "train.py", tmp_path / "traces"
    script.write_text(HEAD + "for turn in range(3):\n    train(turn)\n")
    asked = (
        "-m",
        "yantra",
        "trace",
        "record",
        "-o",
        folder,
        "--json",
        "--",
        sys.executable,
        script,
    )
    told, _ = json.JSONDecoder().raw_decode(run(*asked))
    assert told["traces"] == str(folder / "rank{rank}.json")
    assert told["ranks"] == [0] and told["holds"]["operators"] > 0
    assert (folder / "rank0.json").is_file()
    run(*asked, status=2)
