"""Mutants are what the rules say, and differ from the text in one place."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.mutants import campaign, python_rules
from tests.mutants.campaign import (
    ROOT,
    Candidate,
    PythonTrials,
    by_line,
    equivalents,
    files,
    reason,
    sample,
)
from tests.mutants.parts import LAWS, LEFT_OUT, NOT_OF_A_PART, PARTS, Part, laws
from tests.mutants.python_parts import PYTHON_PARTS
from tests.mutants.rules import Mutant, mutants

TEXT = """// A comment with a < b and 1 number.
#include "not/1.hpp"
#define SIZE 3
template <class T>
struct Thing {
    std::array<u32, 4> kept;
    u32 open = 0;
    bool full() const { return open >= 10; }
};

void Thing::step(u32 by, const Other& other) {
    const u32 more = by + 2;
    if (by == more && full()) {
        note("2 < 3", by);
        return;
    }
    for (u32 at = 0; at < by; ++at) [[likely]] {
        put(at, more);
    }
    probe_.noted(open + 1,
                 by - 1);
}
"""

EXPECTED = """\
7 one off: 0 -> 1
8 flip: >= -> >
8 one off: 10 -> 11
8 one off: 10 -> 9
12 one off: + -> -
12 one off: 2 -> 1
12 one off: 2 -> 3
13 flip: == -> !=
13 flip: && -> ||
14 drop: note("2 < 3", by); -> ;
15 drop: return; -> ;
17 one off: 0 -> 1
17 flip: < -> <=
17 one off: ++ -> --
18 drop: put(at, more); -> ;
18 swap: at, more -> more, at
"""

PYTHON = '''"""A text with a < b and 1 number."""

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    LIMIT = 1
SIZES: dict[Literal[1], int] = {}


@cache(maxsize=64)
def share(parts: list[float], known: dict[str, float], least=0) -> float:
    assert len(parts) > 1  # 1 < 2
    if not parts or least is None:
        raise ValueError(f"{len(parts) + 1} parts" + "none")
    found = parts[0] * 2.5
    found = max(found, known.get("é", 0.0)) if 0 < least <= 9 else found
    for part in parts[1:]:
        if part and part != least:
            continue
        found += part - (  # a comment + 1
            least
        )
    parts[-1] = known["é"] = bisect_left(parts, found)
    warn("1 " + "2")
    parts.sort()
    return next((part for part in parts if part), None) or found // 2


class Row:
    shape = (3,)

    def __repr__(self) -> str:
        return "Row" * 2
'''

PYTHON_EXPECTED = """\
11 one off: 0 -> 1
13 negate: not -> nothing
13 negate: not parts or least is None -> (not (not parts or least is None))
13 flip: or -> and
13 flip: is -> is not
15 swap: 0 -> -1
15 one off: 0 -> 1
15 one off: * -> /
15 one off: 2.5 -> 5.0
16 drop: found = max(found, known.get("é", 0.0)) if 0 < least <= 9 else found -> pass
16 swap: max -> min
16 drop: , 0.0 -> nothing
16 one off: 0.0 -> 1.0
16 negate: 0 < least <= 9 -> (not (0 < least <= 9))
16 one off: 0 -> 1
16 flip: < -> <=
16 flip: <= -> <
16 one off: 9 -> 10
17 one off: 1 -> 2
18 negate: part and part != least -> (not (part and part != least))
18 flip: and -> or
18 flip: != -> ==
19 drop: continue -> pass
20 drop: found += part - ( # a comment + 1 least ) -> pass
20 one off: += -> -=
20 one off: - -> +
23 drop: parts[-1] = known["é"] = bisect_left(parts, found) -> pass
23 one off: 1 -> 2
23 swap: bisect_left -> bisect_right
25 drop: parts.sort() -> pass
26 negate: part -> (not (part))
26 drop: , None -> nothing
26 flip: or -> and
26 one off: // -> *
26 one off: 2 -> 3
30 one off: 3 -> 4
"""


def test_mutants_are_what_the_rules_say() -> None:
    made = mutants(TEXT, left_out=LEFT_OUT)
    assert "".join(f"{one.line} {one.rule}: {one.change}\n" for one in made) == EXPECTED


def test_mutants_of_python_are_what_the_rules_say() -> None:
    made = python_rules.mutants(PYTHON)
    assert "".join(f"{one.line} {one.rule}: {one.change}\n" for one in made) == PYTHON_EXPECTED
    for mutant in made:
        compile(mutant.applied(PYTHON), "mutant", "exec")


@pytest.mark.parametrize(
    "path",
    ["native/base/wire.hpp", "native/fold/folding.cpp", "src/yantra/result/bound.py"],
)
def test_a_mutant_differs_in_one_place_and_on_its_line(path: str) -> None:
    text = (ROOT / path).read_text()
    made = python_rules.mutants if path.endswith(".py") else partial(mutants, left_out=LEFT_OUT)
    for mutant in made(text)[::7]:
        changed = mutant.applied(text)
        end = mutant.start + len(mutant.before)
        assert changed != text
        assert changed.startswith(text[: mutant.start] + mutant.after)
        assert changed.removeprefix(text[: mutant.start] + mutant.after) == text[end:]
        assert text.count("\n", 0, mutant.start) == mutant.line - 1


def test_a_diff_shows_what_changes() -> None:
    (mutant,) = (one for one in mutants(TEXT) if one.change == "2 -> 3")
    diff = Candidate("part", "thing.cpp", TEXT, mutant).diff
    assert "\n-    const u32 more = by + 2;\n+    const u32 more = by + 3;\n" in diff


def test_a_sample_is_drawn_by_its_seed_one_mutant_of_every_line_first() -> None:
    draws = [[(one.place, one.mutant) for one in sample(seed, "wire reader")] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert sorted(draws[0]) == sorted(draws[2])
    lines = {place for place, _ in draws[0]}
    assert {place for place, _ in draws[0][: len(lines)]} == lines


def test_every_part_has_files_and_tests() -> None:
    for part, (patterns, tests) in (PARTS | PYTHON_PARTS).items():
        assert all(list(ROOT.glob(pattern)) for pattern in patterns), part
        assert all(
            (ROOT / test.partition("::")[0]).exists() for test in tests if not test.startswith("-")
        ), part


@pytest.mark.parametrize(
    "room",
    [
        *("native/network/packet", "native/network/flow", "native/collective/exchange"),
        *("src/yantra/explore", "src/yantra/result", "src/yantra/accuracy"),
        *("src/yantra/compute", "src/yantra/tracing/pytorch/link"),
    ],
)
def test_each_file_of_a_room_is_in_one_part(room: str) -> None:
    named = [file for _, file in files(PARTS | PYTHON_PARTS)]
    paths = [path for path in (ROOT / room).rglob("*") if path.suffix in (".py", ".cpp", ".hpp")]
    there = {str(path.relative_to(ROOT)) for path in paths if path.name != "__init__.py"}
    assert {file for file in there if not NOT_OF_A_PART.search(file)} <= set(named)
    assert len(named) == len(set(named))


def test_every_mutant_listed_as_equivalent_exists() -> None:
    known = equivalents()
    part_of = {file: part for part, file in files(PARTS | PYTHON_PARTS)}
    listed = {file for file, _, _ in known}
    every = [one for file in listed for line in by_line(part_of[file], file) for one in line]
    found = {(one.file, one.line) for one in every if reason(one, known)}
    assert found == {(file, line) for file, line, _ in known}


def test_a_line_that_changes_leaves_the_draw_of_all_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def drawn(text: str) -> list[tuple[str, str]]:
        (tmp_path / "thing.cpp").write_text(text)
        return [(one.line, one.mutant.change) for one in sample(1, None)]

    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    monkeypatch.setattr(campaign, "PARTS", {"part": Part(("thing.cpp",), ())})
    line = "    const u32 more = by + 2;\n"
    without = [one for one in drawn(TEXT) if one[0] != line.strip()]
    assert drawn(TEXT.replace(line, "")) == without != drawn(TEXT)


def test_a_test_beside_the_core_states_laws_of_the_files_it_names() -> None:
    visited = "native/execution/state.hpp", "native/fold/shortcuts/state_visitors.hpp"
    for file in visited:
        assert laws(file) == (f"{LAWS}[fold/shortcuts/state.test.cpp]",)
    assert laws("native/memory/memory.cpp") == (f"{LAWS}[memory/memory.test.cpp]",)
    assert laws("native/fold/shortcuts/fast_forward.cpp") == ()


def test_a_mutant_of_python_is_tried_in_a_copy_and_killed_by_what_notices(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    law = tmp_path / "test_law.py"
    law.write_text(
        "from yantra.result.shares import percent\n"
        "def test_law():\n    assert percent(125) == '12.5 %'\n"
    )
    monkeypatch.setattr(campaign, "package", lambda worker: _one_module(tmp_path / str(worker)))
    file = "src/yantra/result/shares.py"
    part = Part((file,), (f"{law}", f"--rootdir={tmp_path}", "--import-mode=prepend"))
    monkeypatch.setattr(campaign, "PYTHON_PARTS", {"part": part})
    text = 'def percent(tenth):\n    return f"{tenth / 10:.1f} %"\n'
    trials = PythonTrials(1, 60)
    copy = tmp_path / "0/yantra/result/shares.py"
    assert trials.unchanged("part").fate == "survived"
    for before, after, fate in (
        ("/", "*", "killed"),
        ("/", " /", "survived"),
        ("/", "+", "killed"),
    ):
        mutant = Mutant(2, text.index("/"), before, after, "one off")
        result = trials.run(Candidate("part", file, text, mutant), 0)
        assert result.fate == fate
        assert copy.read_text() == text


def _one_module(there: Path) -> Path:
    folder = there / "yantra" / "result"
    folder.mkdir(parents=True)
    for path in ("__init__.py", "pytest_plugin.py", "result/__init__.py"):
        (there / "yantra" / path).touch()
    (folder / "shares.py").write_text('def percent(tenth):\n    return f"{tenth / 10:.1f} %"\n')
    return there
