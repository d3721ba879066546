"""The library: what recipes make, what finds them, and that the manifest says the truth."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra import chakra
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.cli import main
from yantra.library import recording
from yantra.library.build import build, path_of
from yantra.library.families import Recipe, chosen, family, recipes
from yantra.library.features import INNER, NAMES, OUTER, PEAK, Part, Reach, features
from yantra.library.manifest import DEGREES, NUMBERS, manifest, read, write
from yantra.library.recorded import structure
from yantra.library.search import search
from yantra.tracing.inspect.columns import Columns

QUICK = (
    "width.h1k.l4.tp8", "stg.moe.l4.tp2pp4", "serving.llama3-8b.mixed.tp8",
    "disaggregated.llama3-8b.p1k.tp4", "post-training.qwen3-30b-a3b.lora.fsdp8",
    "others.resnet-50.b8.dp8",
)  # fmt: skip
ROWS = list(manifest().values())
TERMS = st.sampled_from(
    [*{word for row in ROWS for word in row.tags}, *(f"{name} > 4" for name in NUMBERS)]
)
FAMILY = """makes: train
about: mine
source: a test
base: {model: llama3-8b, plan: {tp: 2}}
axes: [{small: {model: {name: llama3-8b, num_layers: 2}}, wrong: {plan: {tq: 2}}}]
"""


def test_three_hundred_need_no_pytorch_and_all_are_in_the_manifest() -> None:
    assert list(manifest()) == list(recipes())
    assert sum(one.makes != "record" for one in recipes().values()) >= 300
    assert sum(one.makes == "record" for one in recipes().values()) >= 90
    assert len({row.digest for row in ROWS}) == len(ROWS)


def test_each_has_provenance_and_tags_that_its_numbers_bear_out() -> None:
    for name, row in manifest().items():
        assert recipes()[name].about and recipes()[name].source
        assert {axis for axis in DEGREES if axis in row.tags} == {
            axis for axis in DEGREES if row.numbers[axis] > 1
        }
        assert row.numbers["nodes"] > 0 < row.numbers["layers"]
        assert set(row.features) == set(NAMES)


def test_what_is_rebuilt_is_equal_to_the_bit(tmp_path: Path) -> None:
    built = build(chosen(QUICK), str(tmp_path))
    for one in built:
        assert one.row is not None and one.same, one.problem
        assert sha256(Path(one.path).read_bytes()).hexdigest() == manifest()[one.row.name].digest
        assert one.row.numbers == manifest()[one.row.name].numbers
        assert one.row.tags == manifest()[one.row.name].tags


def test_a_build_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    some = chosen(["width.h1k.l4.*"])
    build(some[:2], str(tmp_path))
    Path(path_of(some[0], str(tmp_path))).write_bytes(b"half")
    told: list[tuple[int, int]] = []
    again = build(some, str(tmp_path), lambda done, total: told.append((done, total)))
    assert [one.kept for one in again] == [False, True, False]
    assert all(one.same for one in again) and told[-1] == (3, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{r.name}.yw" for r in some)


def test_a_recording_that_is_there_is_kept_and_looked_at(tmp_path: Path) -> None:
    (recipe,) = chosen(["recorded.gpt2.l2h64.train"])
    Path(path_of(recipe, str(tmp_path))).mkdir()
    trace = _columns(("comp", 0, 3)).trace
    (Path(path_of(recipe, str(tmp_path))) / "rank.0.et").write_bytes(trace.to_bytes())
    (built,) = build([recipe], str(tmp_path))
    assert built.kept and built.same is False and built.row is None and built.problem is None


def test_one_wrong_recipe_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(FAMILY)
    right, wrong = build(chosen([str(tmp_path / "mine.yaml")]), str(tmp_path / "made"))
    assert right.row is not None and right.same is None and right.row.numbers["layers"] == 2
    assert wrong.row is None and "mine.wrong" in (wrong.problem or "") and wrong.status == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("makes: train", "makes: trains", "makes"),
        ("axes: [", "axis: [", "axes"),
        ("{tp: 2}}", "{tp: 2}, tags: 3}", "tags"),
        ("small: {", "a.b: {", "label"),
        ("wrong: {plan: {tq: 2}}", "wrong: 2", "mapping"),
    ],
)
def test_a_wrong_family_names_the_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(FAMILY.replace(old, new))
    with pytest.raises(ConfigError, match=said):
        family(str(path))


def test_axes_multiply_and_later_settings_win(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "makes: stg\nabout: a\nsource: b\ntags: [x]\nbase: {tp: 1, dp: 2}\n"
        "axes: [{a: {tp: 2}, b: {tags: [y]}}, {c: {}, d: {tp: 4}, e: {pp: 2}}]\n"
    )
    made = {one.name: one for one in family(str(path))}
    assert list(made) == [f"own.{first}.{second}" for first in "ab" for second in "cde"]
    assert made["own.a.d"].settings == {"tp": 4, "dp": 2}
    assert made["own.b.e"].tags == ("x", "y")


@given(TERMS, TERMS)
@settings(max_examples=60, deadline=None)
def test_search_is_a_filter_and_a_comma_is_and(first: str, second: str) -> None:
    both = search(f"{first}, {second}", ROWS)
    assert both == [row for row in search(first, ROWS) if row in search(second, ROWS)]


@given(st.sampled_from(NUMBERS), st.integers(0, 10**12))
@settings(max_examples=60, deadline=None)
def test_a_comparison_and_its_opposite_part_all(name: str, value: int) -> None:
    above, others = (search(f"{name}{sign}{value}", ROWS) for sign in (">", "<="))
    assert len(above) + len(others) == len(ROWS)
    assert all(row.numbers[name] > value for row in above)


@pytest.mark.parametrize(
    ("terms", "said"),
    [("moee", "mean 'moe'"), ("rank > 4", "mean 'ranks'"), ("pp > four", "number such as 4"),
     ("moe,", "expected a tag")],
)  # fmt: skip
def test_an_unknown_term_is_answered_with_what_could_be_meant(terms: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        search(terms, ROWS)


def test_numbers_have_scales() -> None:
    assert search("hidden >= 8k", ROWS) == search("hidden >= 8000", ROWS)
    assert search("parameters > 100B", ROWS) == search("parameters > 100e9", ROWS)


def test_the_manifest_reads_back_equal(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "again.csv")
    assert read(tmp_path / "again.csv") == ROWS


def _columns(*nodes: tuple[str, int, int], ops: int = 0) -> Columns:
    """Nodes one after the other: `comp` of us, or a collective of bytes."""
    builder = chakra.TraceBuilder()
    last = None
    for kind, size, duration in nodes:
        after = [] if last is None else [last]
        if kind == "comp":
            last = builder.compute(num_ops=ops or None, tensor_size=8, duration_micros=duration,
                                   after=after)  # fmt: skip
        else:
            last = builder.collective(chakra.CollectiveType[kind], size, after=after)
    return Columns(builder.build())


def test_shares_of_time_follow_from_work_bytes_and_reach() -> None:
    columns = _columns(("comp", 0, 1), ("ALL_REDUCE", 10**9, 0), ops=10**12)
    work, share = 10**12 / PEAK, 2 * 15 / 16
    for reach, rate, name in ((16, OUTER, "outer"), (8, INNER, "inner")):
        found = features([Part(columns, 16, {"0": Reach(16, reach)})], 16, 0)
        talk = share * 10**9 / rate
        assert found[name] == pytest.approx(talk / (work + talk + 1e-5), rel=1e-9)
        assert found["reduced"] == 1 and found["overlap"] == pytest.approx(0, abs=1e-9)


def test_structure_forgets_times_and_keeps_sizes() -> None:
    one = structure(_columns(("comp", 0, 3), ("ALL_REDUCE", 64, 0)))
    assert one == structure(_columns(("comp", 0, 9), ("ALL_REDUCE", 64, 0)))
    assert one != structure(_columns(("comp", 0, 3), ("ALL_REDUCE", 65, 0)))


def test_recording_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(recording, "versions", dict)
    with pytest.raises(UnsupportedError, match="pip install torch transformers"):
        recording.record(chosen(["recorded.gpt2.l2h64.train"])[0], str(tmp_path / "r"))


@pytest.mark.parametrize(
    ("settings_", "said"), [({"dp": 9}, "at most 4"), ({"depth": 2}, "unknown key"),
                            ({"phase": "rest"}, "training or inference"), ({"layers": 0}, "least")]
)  # fmt: skip
def test_a_recording_of_wrong_settings_is_refused(settings_: dict[str, object], said: str) -> None:
    recipe = Recipe("mine.a", "record", "a", "b", (), settings_, "mine.yaml")
    with pytest.raises(ConfigError, match=said):
        recording.record(recipe, "nowhere")


def test_the_commands_list_show_and_build(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["library", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(ROWS)
    assert main(["library", "list", QUICK[0]]) == 0
    assert manifest()[QUICK[0]].digest in capsys.readouterr().out
    assert main(["library", "build", QUICK[0], "-o", str(tmp_path)]) == 0
    assert "1 as the manifest says" in capsys.readouterr().out
    assert main(["library", "build"]) == 2
