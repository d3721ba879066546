"""What is found for many plans at once is what is found for each."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest

from yantra.explore.closed_form import blocks
from yantra.explore.closed_form.cases import Cases, DifferError
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import KEY, Key, Works
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import PlanSpace
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.stage import Chunks


def keys_of(**fields: Any) -> list[Key]:
    known = dict.fromkeys(KEY, (1,)) | {"cp_kind": (0,), "recompute": (0, 1, 2, 3)}
    columns = np.meshgrid(*(known | fields).values(), indexing="ij")
    return [tuple(row) for row in np.stack([of.ravel() for of in columns], axis=1).tolist()]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("llama3-8b", {"tp": (1, 2, 8), "micro_batch": (1, 3, 4, 32)}),
        ("llama3-8b", {"tp": (1, 2, 4), "cp": (1, 2, 4), "cp_kind": (0, 1, 2)}),
        ("mixtral-8x7b", {"tp": (1, 2, 4), "ep": (1, 2, 8), "etp": (1, 2), "micro_batch": (1, 5)}),
        ("deepseek-v2", {"tp": (1, 2), "ep": (1, 8, 160), "micro_batch": (1, 2, 3)}),
        ("vit-b/16", {"tp": (1, 2, 4), "micro_batch": (1, 3, 64)}),
        ("mamba2-2.7b", {"micro_batch": (1, 3, 64)}),
        ("dlrm", {"micro_batch": (1, 3, 64), "recompute": (0,)}),
    ],
)
@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_works_of_many_keys_are_those_of_each(
    name: str, fields: dict[str, Any], dtype: Any
) -> None:
    model, keys = find(name), keys_of(**fields)
    together = Works(model, 1024)
    found = together.of(keys, dtype)
    assert sorted(made.keys[at] for made, places in found for at in places) == sorted(keys)
    assert len(found) < len(keys)
    drawn = np.random.default_rng(3).permutation(len(keys))[:12]
    for key in (keys[at] for at in drawn):
        ((one, _),) = Works(model, 1024).of([key], dtype)
        ((many, (at,)),) = together.of([key], dtype)
        assert (one.untimed[:, :, 0] == many.untimed[:, :, at]).all()
        for own, of in zip(one.amounts, many.amounts, strict=True):
            assert own.rows[:, 0].tolist() == of.rows[:, at].tolist()
            assert own.border[0] == of.border[at]
            assert [one[:3] for one in own.operations] == [one[:3] for one in of.operations]
            assert [one.after for one in own.operations] == [one.after for one in of.operations]


def test_keys_whose_operations_differ_are_taken_apart() -> None:
    model = find("mixtral-8x7b")
    found = Works(model, 1024).of(keys_of(ep=(2, 4, 8), recompute=(0,)), "bf16")
    assert sorted(tuple(key[KEY.index("ep")] for key in made.keys) for made, _ in found) == [
        (2, 4),
        (8,),
    ]


def test_cases_calculate_as_each_number_does() -> None:
    numbers, others = [1, 2, 7, 12], [3, 3, 2, 5]
    one, other = Cases.of(numbers), Cases.of(others)
    for of in (
        lambda a, b: a * b + 2 * a - b // 2,
        lambda a, b: -(-a // b) % 3,
        lambda a, b: ceil(a * 1.03125) + round(b / 2) + max(a, 0 * b),
    ):
        assert of(one, other).tolist() == [of(*pair) for pair in zip(numbers, others, strict=True)]


def test_cases_that_differ_say_which() -> None:
    one = Cases.of([1, 2, 3])
    assert one > 0
    assert not one > 3
    assert int(Cases.of([4, 4])) == 4
    for asked, holds in (
        (lambda: bool(one > 1), [False, True, True]),
        (lambda: max(one, 2), [True, False, False]),
        (lambda: range(one), [True, False, False]),
        (lambda: float(one), [True, False, False]),
    ):
        with pytest.raises(DifferError) as error:
            asked()
        assert error.value.holds.tolist() == holds


def test_who_shares_cases_keeps_them() -> None:
    kept = one = Cases.of([4, 9])
    one *= 2
    one //= 3
    one += 1
    one -= 5
    assert kept.tolist() == [4, 9]
    assert one.tolist() == [-2, 2]


def test_equal_cases_are_one_key() -> None:
    known = {Cases.of([1, 2]): "known"}
    assert known[Cases.of([1, 2])] == "known"
    assert Cases.of([1, 3]) not in known


SPACES = {
    "mixtral-8x7b": PlanSpace(
        ranks=16, global_batch=64, tp=(1, 2), pp=(2,), sequence=1024, overlap=(True, False)
    ),
    "llama3-8b": PlanSpace(ranks=8, global_batch=32, cp=(1, 2), sequence=1024),
}


@pytest.mark.parametrize("stack", ["roofline", "unknown"])
@pytest.mark.parametrize("name", list(SPACES))
def test_plans_judged_together_are_judged_as_one_by_one(
    name: str, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, space = find(name), SPACES[name]
    columns, batch = space.columns(model), space.global_batch
    machine = Machine("hgx-h100", space.ranks, stack=stack)
    together = ClosedForm(model, machine, 1024).judge(columns, batch)
    rows = np.random.default_rng(5).permutation(len(columns["tp"]))
    mixed = {field: of[rows] for field, of in columns.items()}
    monkeypatch.setattr(blocks, "_BLOCK", 100)
    for of, own in zip(together, ClosedForm(model, machine, 1024).judge(mixed, batch), strict=True):
        assert (own == of[rows]).all()
    for row in rows[:20]:
        one = {field: of[row : row + 1] for field, of in columns.items()}
        alone = ClosedForm(model, machine, 1024).judge(one, batch)
        assert [of[row] for of in together] == [own[0] for own in alone]


def test_memory_asked_alone_is_that_of_judged_plans() -> None:
    name = "mixtral-8x7b"
    model, space = find(name), SPACES[name]
    columns, batch = space.columns(model), space.global_batch
    form = ClosedForm(model, Machine("hgx-h100", space.ranks), 1024)
    asked = form.memory(columns, batch)
    judged = form.judge(columns, batch)
    assert (judged.memory_bytes == asked).all()
    given = form.judge(columns, batch, asked)
    assert all((one == other).all() for one, other in zip(judged, given, strict=True))


def test_no_micro_batch_of_a_search_is_left_out() -> None:
    model = find("llama3-8b")
    columns = PlanSpace(ranks=8, global_batch=96, tp=(1,), pp=(1,)).columns(model)
    assert len(np.unique(columns["micro_batch"])) > 3
    form = ClosedForm(model, Machine("hgx-h100", 8, stack="unknown"))
    times = form.judge(columns, 96).time_ns
    assert np.isfinite(times).all()
    assert (times > 0).all()


@pytest.mark.parametrize("stack", ["roofline", "unknown"])
def test_a_machine_that_takes_what_another_knows_judges_as_one_that_knows_nothing(
    stack: str,
) -> None:
    name, scale = "mixtral-8x7b", Scale(peak=0.7, memory=1.5)
    model, space = find(name), SPACES[name]
    columns, batch = space.columns(model), space.global_batch
    works, known = Works(model, 1024), Machine("hgx-h100", space.ranks, stack=stack)
    ClosedForm(model, known, 1024, works).judge(columns, batch)
    taking = Machine("hgx-h100", space.ranks, scale, like=known, stack=stack)
    fresh = Machine("hgx-h100", space.ranks, scale, stack=stack)
    one = ClosedForm(model, taking, 1024, works).judge(columns, batch)
    other = ClosedForm(model, fresh, 1024).judge(columns, batch)
    assert all((of == own).all() for of, own in zip(one, other, strict=True))


def test_parts_without_experts_are_made_once_for_all_splits_of_experts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of deepseek-v2 the ends and the dense layer, in all groups of its experts."""
    made: list[tuple[int, ...]] = []
    work = Chunks.work

    def counted(self: Chunks, setting: Any, layers: Any, **ends: Any) -> Any:
        made.append((layers, *ends.values()))
        return work(self, setting, layers, **ends)

    monkeypatch.setattr(Chunks, "work", counted)
    works = Works(find("deepseek-v2"), 1024)
    works.of(keys_of(ep=(1, 2, 8, 160), recompute=(0,)), "bf16")
    asked = {part: made.count(part) for part in made}
    assert asked[((0, 0), True, False)] == asked[((60, 60), False, True)] == 1
    assert asked[((0, 1),)] == 1
    assert asked[((1, 2),)] > 3
