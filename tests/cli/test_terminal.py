"""Rules, colours and bars are drawn on a terminal, and never in a pipe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.terminals import Seen, see
from yantra.cli import main, progress

pytest.importorskip("pty")
COLOUR = re.compile(r"\x1b\[[0-9;]*(?:3|4|9|10)[0-7](?:;[0-9;]*)?m")
PROGRESS = """
import sys, time
from yantra.cli import guarded, progress
def work():
    with progress.progress("working", counted={counted}) as tell:
        for done in range({steps}):
            time.sleep(0.05)
            if tell:
                tell(done, {steps})
    return 0
sys.exit(guarded(work, False))
"""


def run(folder: Path, **environment: str) -> Seen:
    return see(["run", "step.yaml"], folder, environment=environment)


def test_a_terminal_gets_rules_and_bold_text(inputs: Path) -> None:
    shown = run(inputs).terminal
    assert "rank (ns)" in shown and "─" in shown and "\x1b[1m" in shown


def test_with_no_color_there_is_no_colour(inputs: Path) -> None:
    shown = run(inputs, NO_COLOR="1").terminal
    assert "─" in shown and not COLOUR.search(shown)
    long = see([], inputs, code=PROGRESS.format(counted=True, steps=25))
    assert COLOUR.search(long.terminal)
    plain = see(
        [], inputs, code=PROGRESS.format(counted=True, steps=25), environment={"NO_COLOR": "1"}
    )
    assert "working" in plain.terminal and not COLOUR.search(plain.terminal)
    empty = run(inputs, NO_COLOR="").terminal
    assert "\x1b[1m" in empty


@pytest.mark.parametrize("terminal", ["dumb", "unknown"])
def test_a_terminal_that_cannot_draw_gets_plain_text(terminal: str, inputs: Path) -> None:
    shown = run(inputs, TERM=terminal).terminal
    assert "rank (ns)" in shown and "\x1b" not in shown and "─" not in shown
    long = see(
        [], inputs, code=PROGRESS.format(counted=True, steps=20), environment={"TERM": "dumb"}
    )
    assert long.terminal == ""


def test_a_pipe_gets_plain_text_and_no_escape_code(inputs: Path) -> None:
    piped = see(["run", "step.yaml"], inputs, pipe="stdout")
    assert "\nrank (ns)" in piped.piped and "\x1b" not in piped.piped
    assert piped.terminal == ""


def test_force_color_styles_a_pipe(inputs: Path) -> None:
    piped = see(["run", "step.yaml"], inputs, pipe="stdout", environment={"FORCE_COLOR": "1"})
    assert "\x1b[1m" in piped.piped and "─" in piped.piped
    unforced = see(["run", "step.yaml"], inputs, pipe="stdout", environment={"FORCE_COLOR": ""})
    assert "\x1b" not in unforced.piped


def test_json_is_the_same_on_a_terminal(inputs: Path) -> None:
    shown = see(["run", "step.yaml", "--json"], inputs).terminal
    assert json.loads(shown)["makespan_ns"] > 0 and "\x1b" not in shown


def test_short_work_shows_no_bar(inputs: Path) -> None:
    shown = see([], inputs, code=PROGRESS.format(counted=False, steps=2)).terminal
    assert shown == ""


@pytest.mark.parametrize(("counted", "said"), [(True, r"\d+/30"), (False, r"\d+%")])
def test_long_work_shows_how_far_it_is_and_how_long_it_takes(
    counted: bool, said: str, inputs: Path
) -> None:
    shown = see([], inputs, code=PROGRESS.format(counted=counted, steps=30)).terminal
    assert "working" in shown and re.search(said, shown)
    assert len(re.findall(r"\d:\d\d:\d\d", shown)) >= 2, "time taken and time left"
    assert shown.rstrip().endswith("\x1b[2K"), "the bar is gone at the end"
    assert r"\x1b" not in shown, "codes of the bar are obeyed"


SLOW = """
import sys, time
from yantra.cli import guarded, progress
def work():
    {before}
    time.sleep({seconds})
    print("a line")
    sys.stderr.write("warning: \\x1b[31m\\n")
    time.sleep(0.3)
    print("another")
    return 0
sys.exit(guarded(work, False))
"""


def test_a_slow_command_without_a_bar_shows_that_it_works_until_it_prints(inputs: Path) -> None:
    seen = see([], inputs, code=SLOW.format(before="", seconds=progress.WAITS_S + 0.7))
    bar, _, printed = seen.terminal.partition("a line\r\n")
    assert "working" in bar and bar.endswith("\x1b[2K") and seen.status == 0
    assert printed == "warning: \\x1b[31m\r\nanother\r\n"
    quick = see([], inputs, code=SLOW.format(before="", seconds=0.2))
    assert quick.terminal.startswith("a line")


def test_a_question_a_server_and_a_pipe_have_no_bar(inputs: Path) -> None:
    seconds = progress.WAITS_S + 0.7
    held = "held = progress.paused(); held.__enter__()"
    asked = see([], inputs, code=SLOW.format(before=held, seconds=seconds))
    assert asked.terminal.startswith("a line")
    piped = see([], inputs, code=SLOW.format(before="", seconds=seconds), pipe="stderr")
    assert piped.terminal == "a line\r\nanother\r\n"
    assert piped.piped == "warning: \\x1b[31m\n"


def test_a_warning_above_a_bar_is_escaped(inputs: Path) -> None:
    code = PROGRESS.format(counted=True, steps=25).replace(
        "time.sleep(0.05)", "time.sleep(0.05); done == 20 and sys.stderr.write('w\\x1b[2Jw\\n')"
    )
    shown = see([], inputs, code=code).terminal
    assert r"w\x1b[2Jw" in shown and "\x1b[2J" not in shown


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("life job.yaml --cluster hgx-b200 --gpus 64 --days 54 --set lives=50", "lives"),
        ("day jobs.csv --cluster hgx-h100 --gpus 64", "jobs of the day"),
        ("compare result.json other.json", "results"),
        ("workload train --model llama3-8b --tp 4 --dp 2 -o bar.yw", "step"),
    ],
)
def test_commands_that_may_take_long_have_a_bar_while_they_work(
    line: str, what: str, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []

    @contextmanager
    def noted(what: str, counted: bool = False) -> Iterator[None]:
        shown.append(what)
        yield None
        shown.append("end")

    monkeypatch.setattr(progress, "progress", noted)
    monkeypatch.chdir(inputs)
    assert main(line.split()) == 0
    assert shown == [what, "end"]


def test_a_pipe_gets_no_bar(inputs: Path) -> None:
    piped = see([], inputs, code=PROGRESS.format(counted=True, steps=20), pipe="stderr")
    assert (piped.piped, piped.terminal) == ("", "")


def test_help_fits_the_terminal(inputs: Path) -> None:
    for columns in ("60", "80"):
        shown = see(["run", "--help"], inputs, environment={"COLUMNS": columns}).terminal
        lines = [line for line in shown.splitlines() if "yantra run" not in line]
        assert max(map(len, lines)) <= int(columns) + 2
