"""Mutants are what the rules say, and differ from the text in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import campaign
from tests.mutants.campaign import ROOT, Candidate, equivalents, reason, sample
from tests.mutants.parts import LAWS, LEFT_OUT, PARTS, Part, laws
from tests.mutants.rules import mutants

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


def test_mutants_are_what_the_rules_say() -> None:
    made = mutants(TEXT, left_out=LEFT_OUT)
    assert "".join(f"{one.line} {one.rule}: {one.change}\n" for one in made) == EXPECTED


@pytest.mark.parametrize("path", ["native/base/wire.hpp", "native/fold/folding.cpp"])
def test_a_mutant_differs_in_one_place_and_on_its_line(path: str) -> None:
    text = (ROOT / path).read_text()
    for mutant in mutants(text, left_out=LEFT_OUT)[::7]:
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
    for part, (files, tests) in PARTS.items():
        assert all(list(ROOT.glob(pattern)) for pattern in files), part
        assert all((ROOT / test).exists() for test in tests if not test.startswith("-")), part


def test_every_mutant_listed_as_equivalent_exists() -> None:
    known = equivalents()
    found = {(one.file, one.line) for one in sample(1, None) if reason(one, known)}
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
