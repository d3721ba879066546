"""The journal of a study: on the disk before it counts, and no damaged line counts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.base.notes import Note
from yantra.cli import main
from yantra.explore.study import journal
from yantra.explore.study.journal import TRIALS
from yantra.explore.study.study import Finished, kept, run_study
from yantra.explore.study.study_file import Study, read_study

TEXT = """
model: llama3-8b
global_batch: 16
sequence: 1024
clusters: [hgx-h100]
ranks: [4]
scale: {peak: [1, 1.2, 1.5]}
prices: {hgx-h100: 2.50 USD/h}
objectives: [step_time]
plan: {tp: [2, 4], recompute: [none], pp: [1], zero: [0]}
"""
Edit = Callable[[bytes], bytes]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    path = tmp_path / "study.yaml"
    path.write_text(TEXT)
    return read_study(str(path))


@pytest.fixture
def out(study: Study, tmp_path: Path) -> Path:
    run_study(study, str(tmp_path / "out"))
    return tmp_path / "out"


def unsealed(content: bytes) -> bytes:
    lines = [json.loads(line) for line in content.splitlines()]
    return b"".join(
        json.dumps({key: value for key, value in line.items() if key != "sealed"}).encode() + b"\n"
        for line in lines
    )


def test_a_trial_is_on_the_disk_before_it_counts(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = tmp_path / "out" / TRIALS
    on_disk: dict[int, int] = {}
    sync = os.fsync

    def noted(descriptor: int) -> None:
        sync(descriptor)
        status = os.fstat(descriptor)
        on_disk[status.st_ino] = status.st_size

    monkeypatch.setattr(os, "fsync", noted)
    counted = []

    def tell(done: int, total: int) -> None:
        counted.append(done)
        if done:
            size = on_disk[trials.stat().st_ino]
            assert trials.read_bytes()[:size].count(b"\n") == 1 + done

    run_study(study, str(tmp_path / "out"), tell=tell)
    assert counted == [0, 1, 2, 3]
    assert on_disk[(tmp_path / "out").stat().st_ino] is not None  # the name of the file, too


def second(change: Edit) -> Edit:
    def changed(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        lines[2] = change(lines[2])
        return b"".join(lines)

    return changed


def value(key: str, new: object) -> Edit:
    def changed(line: bytes) -> bytes:
        form = json.loads(line)
        form[key] = new
        return json.dumps(form).encode() + b"\n"

    return second(changed)


DAMAGE: dict[str, Edit] = {
    "NUL bytes": second(lambda line: bytes(len(line) - 1) + b"\n"),
    "NUL bytes in front": second(lambda line: bytes(500) + line),
    "cut, and something after it": second(lambda line: line[:60] + b"\n"),
    "cut, and the next line behind it": second(lambda line: line[:60]),
    "not UTF-8": second(lambda line: line.replace(b"hgx", b"h\xffx", 1)),
    "a text for a number": value("step_time", "fast"),
    "a negative time": value("step_time", -5),
    "no time": value("step_time", None),
    "another time": value("step_time", 1e-9),
    "not finite": value("step_time", float("inf")),
    "a number of many digits": second(lambda line: line.replace(b": 4", b": " + b"4" * 5000, 1)),
    "another memory": value("memory", 5),
    "another plan": value("plan", {"tp": 8, "cp": 1, "pp": 1, "dp": 1}),
    "a member that nobody reads": value("vpp", 7),
    "another cluster": value("cluster", "hgx-b200"),
    "another scale": value("scale", {"peak": 9.0}),
    "a number beyond the study": value("number", 3),
    "a truth value": value("number", True),
    "a list": second(lambda line: b"[1]\n"),
    "deep": second(lambda line: b"[" * 100_000 + b"\n"),
    "a bound that is not broken": value("broken", ["step_time: 3 is 1 too much"]),
    "a plan of texts": value("plan", {"tp": "2"}),
    "empty": second(lambda line: b"\n"),
}
UNNOTICED_WITHOUT_SEALS = {"a member that nobody reads"}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_line_is_told_and_left_out_and_its_trial_runs_again(
    what: str, study: Study, out: Path
) -> None:
    path = out / TRIALS
    whole, answer = path.read_bytes(), kept(str(out))[1]
    for before in (whole, unsealed(whole)):
        if before != whole and what in UNNOTICED_WITHOUT_SEALS:
            continue
        path.write_bytes(DAMAGE[what](before))
        with (
            pytest.warns(Note, match=r"lines? 3.* damaged and left out"),
            pytest.raises(ConfigError, match=r"[12] of 3 trials are not finished"),
        ):
            kept(str(out))
        with pytest.warns(Note, match=r"lines? 3.* damaged and left out"):
            assert run_study(study, str(out), resume=True) == answer
        assert sorted(path.read_bytes().splitlines()) == sorted(whole.splitlines())
        assert kept(str(out))[1] == answer


def test_every_turned_bit_is_noticed_or_harmless(study: Study, out: Path) -> None:
    path = out / TRIALS
    whole, answer = path.read_bytes(), kept(str(out))[1]
    for bit in range(3, 8 * len(whole), 61):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            read = journal.read_journal(str(path), study)
        except ConfigError:
            continue
        assert all(answer.trials[number] == trial for number, trial in read.trials.items()), bit


def test_an_older_journal_is_read_with_a_note_and_sealed_when_the_study_goes_on(
    study: Study, out: Path
) -> None:
    path = out / TRIALS
    whole, answer = path.read_bytes(), kept(str(out))[1]
    path.write_bytes(unsealed(whole))
    with pytest.warns(Note, match="has no digests, so damage may not be noticed"):
        assert kept(str(out))[1] == answer
    path.write_bytes(b"".join(unsealed(whole).splitlines(keepends=True)[:3]))
    with pytest.warns(Note, match="has no digests"):
        assert run_study(study, str(out), resume=True) == answer
    assert path.read_bytes() == whole


def test_a_damaged_first_line_is_written_again_where_the_study_is_given(
    study: Study, out: Path
) -> None:
    path = out / TRIALS
    whole, answer = path.read_bytes(), kept(str(out))[1]
    damaged = whole.replace(b'"study"', b'"stuey"', 1)
    path.write_bytes(damaged)
    with pytest.raises(ConfigError, match="its first line is damaged; yantra explore run"):
        kept(str(out))
    with pytest.warns(Note, match="line 1 is damaged"):
        assert run_study(study, str(out), resume=True) == answer
    assert path.read_bytes() == whole
    path.write_bytes(damaged)
    with pytest.raises(ConfigError, match="is damaged, or of another study"):
        run_study(study._replace(global_batch=32), str(out), resume=True)
    path.write_bytes(unsealed(whole).replace(b'"study"', b'"stuey"', 1))
    with pytest.raises(ConfigError, match="so nothing says which study it is of"):
        run_study(study, str(out), resume=True)


def test_a_line_of_another_study_is_not_taken(study: Study, out: Path, tmp_path: Path) -> None:
    other = study._replace(global_batch=32)
    run_study(other, str(tmp_path / "other"))
    lines = (out / TRIALS).read_bytes().splitlines(keepends=True)
    lines[2] = (tmp_path / "other" / TRIALS).read_bytes().splitlines(keepends=True)[2]
    answer = kept(str(out))[1]
    (out / TRIALS).write_bytes(b"".join(lines))
    with pytest.warns(Note, match="line 3 is damaged"):
        assert run_study(study, str(out), resume=True) == answer


def test_a_line_that_was_cut_off_is_gone_when_the_study_goes_on(study: Study, out: Path) -> None:
    path = out / TRIALS
    whole, answer = path.read_bytes(), kept(str(out))[1]
    path.write_bytes(whole[:-40])
    assert run_study(study, str(out), resume=True) == answer
    assert path.read_bytes() == whole


def test_the_commands_tell_it_and_never_blame_yantra(
    study: Study, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = out / TRIALS, str(out.parent / "study.yaml")
    path.write_bytes(DAMAGE["NUL bytes"](path.read_bytes()))
    assert main(["explore", "odds", str(out)]) == 2
    assert f"warning: {path}: line 3 is damaged and left out" in capsys.readouterr().err
    words = ["explore", "run", file, "-o", str(out), "--resume", "--simulate", "0"]
    assert main(words) == 0
    assert f"warning: {path}: line 3 is damaged and left out" in capsys.readouterr().err
    assert main(["explore", "odds", str(out)]) == 0
    assert not capsys.readouterr().err


def test_a_full_disk_is_said_of_the_journal(
    tmp_path: Path,
    study: Study,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    left = [2]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    words = ["explore", "run", str(tmp_path / "study.yaml"), "-o", str(tmp_path / "out")]
    assert main(words) == 2
    path = tmp_path / "out" / TRIALS
    said = f"error: {path}: cannot be written: No space left on device; go on with --resume\n"
    assert capsys.readouterr().err == said


def test_kept_is_what_the_run_returned(study: Study, tmp_path: Path) -> None:
    finished = run_study(study, str(tmp_path / "o"))
    assert isinstance(finished, Finished) and kept(str(tmp_path / "o")) == (study, finished)
