"""Laws of `trace record`: the launcher keeps its words, and Python starts the collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.tracing.collect.launched import recording

COLLECT = ["-m", "yantra.collect", "-o", "traces"]


@pytest.mark.parametrize(
    ("before", "started"),
    [
        (["python"], ["train.py", "--epochs", "1", "other.py"]),
        (["python", "-u"], ["train.py"]),
        (["torchrun", "--nproc-per-node", "2"], ["train.py", "-m", "model"]),
        (["python", "-m", "torch.distributed.run", "--nproc-per-node=2"], ["train.py"]),
        (["mpirun", "-n", "2", "python"], ["train.py"]),
        (["python"], ["-m", "package.train", "-v"]),
        (["accelerate", "launch", "--multi_gpu"], ["-m", "package.train"]),
    ],
)
def test_the_collector_stands_before_what_is_started(
    before: list[str], started: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    assert recording([*before, *started], COLLECT[2:]) == [*before, *COLLECT, *started]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["bash", "run.sh"], "bash run.sh: no Python script in it; expected such as torchrun"),
        (["python", "gone.py"], "gone.py: no such file; expected the script to record"),
        (["torchrun", "-m"], "torchrun -m: no Python script in it"),
    ],
)
def test_a_command_that_starts_no_script_is_refused(command: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        recording(command, COLLECT[2:])
    assert str(error.value).startswith(said)
