"""One body of laws for every network program, and programs that break one each."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.programs import BARE, REFERENCE, REFERENCE_WORDS
from yantra.cli import main
from yantra.kinds.external import SKELETON
from yantra.kinds.external_laws import Case, known, violations

RATE = 'print("ready 1", flush=True)'
ARRIVES = 'print(f"arrived {heapq.heappop(self.arrivals)[1]} {self.clock}")'


def changed(folder: Path, *changes: tuple[str, str]) -> str:
    text = SKELETON
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "wrong.py"
    path.write_text(text.replace("/usr/bin/env python3", " ".join(BARE)))
    path.chmod(0o755)
    return str(path)


WRONG = {
    "it forgets odd messages": (
        (
            "        heapq.heappush(self",
            "        if int(message) % 2:\n            return\n        heapq.heappush(self",
        ),
        "fully_connected 6: every_message_arrives: the network program {path}: it never delivers "
        "message 1 of 2 B from 0 to 2, sent at 0 ps, nor 14 more: it says that nothing is to come",
    ),
    "it delivers twice": (
        (
            ARRIVES,
            ARRIVES.replace(
                "print(f", "print(f'arrived {self.arrivals[0][1]} {self.clock}'); print(f"
            ),
        ),
        "fully_connected 6: every_message_arrives: the network program {path}: it delivers message "
        "0 twice",
    ),
    "it forgets bytes": (
        ("int(size) / narrowest", "0 / narrowest"),
        "fully_connected 6: a_message_alone_takes_its_latency_and_its_bytes: 1 B over one link to "
        "rank 1 take 300 ns; expected 300.04",
    ),
    "it adds time without saying so": (
        ("1000 * (latency_ns", "1000 * (50 + latency_ns"),
        "fully_connected 6: a_message_alone_takes_its_latency_and_its_bytes: 1 B over one link to "
        "rank 1 take 350.04 ns; expected 300.04",
    ),
    "large ones overtake": (
        ("1000 * (latency_ns", "1000 * ((1e9 / int(size) if len(route) > 1 else 0) + latency_ns"),
        "ring 8: more_bytes_arrive_no_earlier: to rank 2, (1, 1000, 65536, 1000000) bytes take "
        "1000001000.02, 1001020, 17569.509, 22000 ns",
    ),
    "all share one wire": (
        (
            "        heapq.heappush(self",
            "        self.busy = arrives = max(arrives, getattr(self, 'busy', 0) + 1000)\n"
            "        heapq.heappush(self",
        ),
        "fully_connected 6: messages_that_share_no_link_do_not_wait: 2 to 3 takes 341 ns, "
        "alone 340",
    ),
    "it is late by as many steps as it is given": (
        (
            "            self.clock = int(until)\n",
            "            self.clock = int(until)\n"
            "            self.arrivals = [(at + 1, of) for at, of in self.arrivals]\n",
        ),
        "fully_connected 6: small_steps_change_nothing: message",
    ),
    "it draws lots": (
        (
            "1000 * (latency_ns",
            "1000 * ((__import__('random').random() if int(message) > 25 else 0) + latency_ns",
        ),
        "fully_connected 6: the_same_run_twice_is_the_same: two runs of the same messages end at "
        "different times",
    ),
    "it stays": (
        ("        break\n", "        __import__('time').sleep(30)\n"),
        "fully_connected 6: it_ends_when_it_is_told: it was still running 2 s after 'end'",
    ),
}


def test_the_reference_program_keeps_every_law() -> None:
    assert list(violations(known(shlex.join(REFERENCE_WORDS)))) == []


@pytest.mark.parametrize("case", WRONG)
def test_a_program_that_breaks_a_law_is_told_the_law(case: str, tmp_path: Path) -> None:
    change, said = WRONG[case]
    path = changed(tmp_path, change)
    assert said.format(path=path) in next(violations(known(path)))


def test_the_command_says_which_laws_hold_and_fails_where_one_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "external", f"{REFERENCE} --quick"]) == 0
    told = capsys.readouterr().out
    assert told == "every law holds on fully_connected 6, ring 8, switch 4 x ring 3\n"
    path = changed(tmp_path, ("int(size) / narrowest", "0 / narrowest"))
    assert main(["contract", "external", path]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"error: {path}: breaks the contract of an external: fully_connected 6: "
    )
    assert main(["contract", "external", "./nowhere"]) == 2
    assert capsys.readouterr().err == "error: ./nowhere: the program ./nowhere is not there\n"


def test_a_program_that_adds_overhead_may_take_longer_and_no_less(tmp_path: Path) -> None:
    longer = ("1000 * (latency_ns", "1000 * (50 + latency_ns")
    said = ('"ready 1"', '"ready 1 overhead"')
    assert list(violations(known(changed(tmp_path, longer, said)))) == []


def test_a_program_with_routes_of_its_own_is_asked_for_them(tmp_path: Path) -> None:
    refuses = (
        '    elif word == "begin":\n',
        '    elif word == "routes" and words[0] == "given":\n        sys.exit("no")\n'
        '    elif word == "begin":\n',
    )
    routes = ("for link in route)\n        latency", "for link in self.links)\n        latency")
    sums = (
        "sum(self.links[link][1] for link in route)",
        "max(of[1] for of in self.links.values())",
    )
    command = known(changed(tmp_path, refuses, routes, sums))
    assert command.routes == "own"
    case = Case(command, (("ring", 3, 50.0, 500.0),))
    assert case.apart([(0, 1, 1000)]) == [520.0]
