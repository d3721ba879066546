"""Several processes write and answer what one does, byte for byte."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.linked_jobs import Rank
from tests.recorded_jobs import Plan, write
from yantra.base.errors import TraceError
from yantra.explain.recordings.why import why
from yantra.scenario.recordings import opened
from yantra.tracing.inspect.stats import as_dict, stats_of_files
from yantra.tracing.inspect.validate import check_job
from yantra.tracing.pytorch import files, in_memory, linked_file, on_cores
from yantra.tracing.pytorch.communication_names import CommunicationNames
from yantra.tracing.pytorch.convert import Ranks
from yantra.tracing.pytorch.linked import ProcessGroup
from yantra.tracing.pytorch.sources import Recordings

RANKS = 5


def job(folder: Path) -> str:
    groups = [ProcessGroup("0", "default_pg", "nccl", list(range(RANKS)))]
    for number in range(RANKS):
        rank = Rank(number, RANKS, groups)
        for step in range(3):
            rank.compute(dur=4000 + 100 * number)
            rank.talk("allreduce", "0", 1000 + number, step)
        rank.linked.device_ops[-1].parent = None  # of unknown size, if others do not know it
        rank.synchronize()
        linked_file.write(rank.linked, str(folder / f"rank{number}.json"))
    return str(folder / "rank{rank}.json")


def test_processes_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = job(tmp_path)
    reports = []
    in_one = files.convert_sources

    def alone(*given: Any) -> files.ConvertReport:
        assert cores == 1, "the processes failed"
        return in_one(*given)

    monkeypatch.setattr(files, "convert_sources", alone)
    for name, cores in (("one", 1), ("two", 2), ("many", 16)):
        monkeypatch.setattr(on_cores, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(on_cores, "pays", lambda sizes: True)
        (tmp_path / name).mkdir()
        reports.append(files.convert_files([pattern], str(tmp_path / name / "job")).as_dict())
    assert reports[0] == reports[1] == reports[2]
    assert reports[0]["ranks"] == RANKS and reports[0]["resized"]
    for file in sorted((tmp_path / "one").iterdir()):
        for name in ("two", "many"):
            assert (tmp_path / name / file.name).read_bytes() == file.read_bytes()


def test_members_of_groups_are_held_once(tmp_path: Path) -> None:
    recordings = Recordings([job(tmp_path)])
    held = Ranks(CommunicationNames(), None)
    for source in recordings.sources():
        held.add(pickle.loads(pickle.dumps(held.scan(source))))
    items = [item for found in held.items().values() for item in found]
    assert len(items) == 3 * RANKS
    for part in ("ranks", "name", "group"):
        values = [getattr(item, part) for item in items]
        assert len({*map(id, values)}) == len({*values})


ASKED: dict[str, Callable[[list[str], Any], Any]] = {
    "stats": lambda names, tell: as_dict(stats_of_files(names, None, tell)[0]),
    "why": lambda names, tell: why(names, progress=tell)[0].as_dict(),
    "validate": lambda names, tell: check_job(names).as_dict(),
    "run": lambda names, tell: contents(Path(opened(names, progress=tell)).parent),
}


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.mark.parametrize("asked", ASKED)
def test_processes_answer_the_same(
    asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Plan(ranks=RANKS), tmp_path)
    names = [str(tmp_path / "rank{rank}.json")]
    monkeypatch.setattr(on_cores, "pays", lambda sizes: True)
    in_one = in_memory.each
    answers, told = [], []
    for cores in (1, 2, 16):

        def alone(*given: Any, cores: int = cores, **more: Any) -> Any:
            assert cores == 1, "the processes failed"
            return in_one(*given, **more)

        monkeypatch.setattr(in_memory, "each", alone)
        monkeypatch.setattr(on_cores, "cores", lambda cores=cores: cores)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / f"{asked}{cores}"))
        answers.append(ASKED[asked](names, lambda *at: told.append(at)))
    assert answers[0] == answers[1] == answers[2] and answers[0]
    if asked != "validate":
        assert told == [(done, RANKS) for done in range(1, RANKS + 1)] * 3


def test_an_error_is_the_one_of_a_single_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = job(tmp_path)
    (tmp_path / "rank3.json").write_text('{"nodes": [')
    monkeypatch.setattr(on_cores, "pays", lambda sizes: True)
    told = []
    for cores in (1, 2):
        monkeypatch.setattr(on_cores, "cores", lambda cores=cores: cores)
        with pytest.raises(TraceError, match=r"rank3\.json") as error:
            files.convert_files([pattern], str(tmp_path / "job"))
        told.append(str(error.value))
    assert told[0] == told[1]
