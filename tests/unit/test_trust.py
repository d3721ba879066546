"""Laws of what may run: what the user names, and what the user trusts as it was."""

from __future__ import annotations

import json
import pickle
import shlex
from pathlib import Path

import pytest

from tests import traps
from tests.traps import MARK
from yantra.base import trust
from yantra.base.errors import ConfigError
from yantra.base.trust import NotTrustedError
from yantra.base.trusted import Trusted, place
from yantra.cli import main
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, load, loads


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    traps.lay(work)
    (work / "step.yaml").write_text(json.dumps(traps.scenario("scheduler")))
    return work


def ran() -> bool:
    mark = Path(MARK)
    was = mark.exists()
    mark.unlink(missing_ok=True)
    return was


def status(*words: str) -> int:
    return main(list(words))


def test_a_file_is_trusted_until_it_changes(folder: Path) -> None:
    evil = Path("evil.py")
    assert Trusted.read().why_not(str(evil.resolve())) == "is not trusted"
    assert status("trust", "evil.py") == 0
    assert Trusted.read().why_not(str(evil.resolve())) == ""
    before = evil.read_text()
    evil.write_text(before + "\n")
    assert Trusted.read().why_not(str(evil.resolve())) == "has changed since it was trusted"
    evil.write_text(before)
    assert Trusted.read().why_not(str(evil.resolve())) == ""
    assert status("trust", "--forget", "evil.py") == 0
    assert Trusted.read().why_not(str(evil.resolve())) == "is not trusted"
    assert status("trust", "--forget", "evil.py") == 2


def test_a_folder_is_trusted_with_what_is_in_it_and_nothing_new(folder: Path) -> None:
    Path("deep/er").mkdir(parents=True)
    Path("deep/er/x.py").write_text("")
    Path("data.csv").write_text("a,b\n")
    assert status("trust", ".") == 0
    (files,) = Trusted.read().entries.values()
    assert sorted(files) == ["deep/er/x.py", "evil.py", "evil.sh", "step.yaml"]
    Path("new.py").write_text("")
    assert Trusted.read().why_not(str(Path("new.py").resolve())) == "is not trusted"
    assert Trusted.read().why_not(str(Path("deep/er/x.py").resolve())) == ""


def test_the_list_says_what_has_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("trust", "evil.py") == 0
    assert capsys.readouterr().out == "evil.py\n1 file is trusted as it is now\n"
    assert status("trust", "--list", "--json") == 0
    file = str(Path("evil.py").resolve())
    assert json.loads(capsys.readouterr().out) == {file: {"changed": []}}
    Path("evil.py").write_text("")
    assert status("trust", "--list") == 0
    assert capsys.readouterr().out == f"{file}: 1 file\n  {file}: changed since, so not trusted\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["empty"], "empty: has no code, and nothing that may name some"),
        ([], "expected a folder or a file, or --list"),
        (["--list", "evil.py"], "--list goes alone"),
    ],
)
def test_what_cannot_be_trusted_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    Path("empty").mkdir()
    assert status("trust", *words) == 2
    assert problem in capsys.readouterr().err


def test_a_damaged_list_trusts_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("trust", ".") == 0
    for text in ("", "[]", "{}", '{"format": "yantra-trusted", "trusted": {"/": 3}}', "\0"):
        Path(place()).write_text(text)
        assert status("run", "step.yaml") == 2
        assert place() in capsys.readouterr().err
        assert not ran()


@pytest.mark.parametrize(
    "words",
    [
        ["--plugin", "evil.py"],
        ["--plugin", "./evil.py"],
        ["--set", "scheduler=./evil.py"],
        ["--set", "scheduler={kind: ./evil.py}"],
        ["--set", "network=./evil.py"],
        ["--export", "./evil.py=out.txt"],
    ],
)
def test_what_an_option_names_runs(folder: Path, words: list[str]) -> None:
    traps.arm(folder, " ".join(words))
    assert status("run", "step.yaml", *words) == 2
    assert ran()
    assert status("run", "step.yaml") == 2
    assert not ran(), "the next command has not named it"


def test_an_option_names_one_file_and_no_other(folder: Path) -> None:
    Path("other.py").write_text("x = 1\n")
    for words in (["--plugin", "other.py"], ["--set", "network=./other.py"], ["-o", "evil.json"]):
        assert status("run", "step.yaml", *words) == 2
        assert not ran()


def test_a_shell_that_lists_a_folder_has_named_no_code(folder: Path) -> None:
    assert status("sweep", "evil.py", "step.yaml", "-o", "out") == 2
    assert not ran()


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        (["touch", MARK], False),
        (["./evil.sh"], True),
        (["./evil.sh", "--fast"], True),
        (["./evil.sh", "step.yaml"], False),
        (["./evil.sh", "evil.py"], False),
        (["sh", "evil.sh"], False),
        (["/bin/sh", "-c", f"touch {MARK}"], False),
    ],
)
def test_a_trusted_program_runs_for_any_file_if_its_arguments_are_no_files(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str], allowed: bool
) -> None:
    tree = traps.SCENARIO | {"network": {"kind": "external", "options": {"command": command}}}
    Path("step.yaml").write_text(json.dumps(tree))
    assert status("trust", "evil.sh") == 0
    expected = 3 if allowed else 2
    assert status("run", "step.yaml") == expected
    assert ran() is allowed
    words = ", ".join(json.dumps(word) for word in command)
    assert status("run", "step.yaml", "--set", f"network.command=[{words}]") == 3
    assert Path(MARK).exists() or "evil.py" in command


def test_a_program_asks_again_when_code_beside_it_is_new_or_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = traps.SCENARIO | {"network": {"kind": "external", "options": {"command": "./evil.sh"}}}
    Path("step.yaml").write_text(json.dumps(tree))
    assert status("trust", ".") == 0
    assert status("run", "step.yaml") == 3
    assert ran()
    Path("json.py").write_text("")
    assert status("run", "step.yaml") == 2
    assert "json.py is new since its folder was trusted" in capsys.readouterr().err
    Path("json.py").unlink()
    Path("evil.py").write_text("")
    assert status("run", "step.yaml") == 2
    assert "evil.py has changed since its folder was trusted" in capsys.readouterr().err
    assert not ran()


def test_what_is_advised_lets_it_run_also_of_what_is_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    for name in ("evil.sh", "evil.py"):
        Path(name).rename(elsewhere / name)
    Path("a link").symlink_to(elsewhere / "evil.sh")
    programs = ["./a link"], [str(elsewhere / "evil.sh")], ["../else where/evil.sh", "step.0.et"]
    schedulers = "../else where/evil.py", str(elsewhere / "evil.py")
    trees = [{"network": {"kind": "external", "options": {"command": of}}} for of in programs]
    trees += [{"scheduler": of} for of in schedulers]
    for number, tree in enumerate(trees):
        Path(place()).unlink(missing_ok=True)
        traps.arm(elsewhere, str(number))
        Path("step.yaml").write_text(json.dumps(traps.SCENARIO | tree))
        for _ in range(3):
            assert status("run", "step.yaml") in (2, 3)
            told = capsys.readouterr().err
            if "yantra trust " not in told:
                break
            advised = told.partition("type: yantra trust ")[2].partition(", or add")[0]
            assert status("trust", *shlex.split(advised.strip())) == 0
        assert (folder / MARK).exists() or (elsewhere / MARK).exists(), tree
        (folder / MARK).unlink(missing_ok=True)
        (elsewhere / MARK).unlink(missing_ok=True)


def test_what_new_writes_is_trusted_until_it_is_changed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("new", "scheduler", "mine") == 0
    Path("step.yaml").write_text(json.dumps(traps.SCENARIO | {"scheduler": "./mine.py"}))
    assert status("run", "step.yaml") == 0
    Path("mine.py").write_text(Path("mine.py").read_text() + "# mine\n")
    capsys.readouterr()
    assert status("run", "step.yaml") == 2
    assert "mine.py has changed since it was trusted" in capsys.readouterr().err


def test_new_works_where_nothing_can_be_kept(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "file"))
    assert status("new", "scheduler", "mine") == 0
    assert "warning: mine.py is not trusted yet (yantra trust mine.py)" in capsys.readouterr().err


def test_in_python_what_is_passed_runs_and_what_a_file_names_is_asked_about(folder: Path) -> None:
    for read in (lambda: load("step.yaml"), lambda: loads(Path("step.yaml").read_text())):
        with pytest.raises(NotTrustedError, match=r"yantra\.allow\('\./evil\.py'\)|allow\("):
            read()
        assert not ran()
    scenario = load("step.yaml", settings={"scheduler": "in_order"})
    assert isinstance(scenario, Scenario)
    with pytest.raises(ConfigError, match="gives no scheduler"):
        scenario.replace(scheduler="evil.py")
    assert ran()
    Path("later.py").write_text(Path("evil.py").read_text())
    Path("step.yaml").write_text(json.dumps(traps.SCENARIO | {"network": "./later.py"}))
    with pytest.raises(NotTrustedError):
        load("step.yaml")
    trust.allow("later.py")
    with pytest.raises(ConfigError, match="gives no network"):
        load("step.yaml")
    assert ran()


def test_a_file_that_was_named_in_python_may_be_named_by_a_file(folder: Path) -> None:
    assert status("new", "scheduler", "mine") == 0
    assert status("trust", "--forget", "mine.py") == 0
    step = load("step.yaml", settings={"scheduler": "in_order"})
    named = step.replace(scheduler="mine.py")
    simulate(named)
    Path("step.yaml").write_text(json.dumps(traps.SCENARIO | {"scheduler": "./mine.py"}))
    assert simulate(load("step.yaml")).makespan_ns == simulate(named).makespan_ns


def test_a_worker_allows_what_its_parent_does(folder: Path) -> None:
    with trust.Command():
        trust.allow("evil.py")
        sent = pickle.dumps(trust.state())
    with trust.Command():
        with pytest.raises(NotTrustedError):
            load("step.yaml")
        trust.take(pickle.loads(sent))
        with pytest.raises(ConfigError, match="gives no scheduler"):
            load("step.yaml")
    assert ran()


def test_the_page_runs_the_models_that_it_was_started_with_and_no_other(folder: Path) -> None:
    from yantra.kinds import plugged_in
    from yantra.ui import controls, jobs

    form = controls.first() | {"ranks": "8", "global_batch": "8", "sequence": "128"}
    assert status("new", "model", "mine") == 0
    with trust.Command(asks_store=False):
        for model in ("./evil.py", "./mine.py", "mine"):
            with pytest.raises(ConfigError, match=r"model: (expected a known name|no model is)"):
                controls.read(form | {"model": model})
        trust.allow("mine.py")
        with plugged_in(["mine.py"]):
            assert jobs.run(controls.read(form | {"model": "mine"})).makespan_ns > 0
    assert not ran()
