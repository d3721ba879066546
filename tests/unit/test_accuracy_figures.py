"""Figures of accuracy: worked by hand, and the laws of fits and of splits."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from yantra.accuracy.effects import Observed, context_of
from yantra.accuracy.fit import Factors, Parts, beside_profile, half_width, residual
from yantra.accuracy.metrics import Band, coverage, errors, interval_score, regret, tau
from yantra.accuracy.own_fit import NU, student
from yantra.accuracy.predict import with_tables_attention
from yantra.accuracy.rows import Row, rows
from yantra.accuracy.splits import (
    Judged,
    judged,
    pooled,
    residuals,
    shape_of,
    widths_by_plan,
    with_intervals,
)


def row(fold: str, seconds: float = 1.0, stack: str = "megatron-1", cluster: str = "a") -> Row:
    return Row("set", fold, "gpu", "bf16", stack, fold, 8, cluster, "{}", "{}", seconds)


def test_products_in_16_bits_begin_at_the_balance_of_the_machine() -> None:
    def told(cluster: str, dtype: str) -> Factors:
        one = row("m", cluster=cluster)._replace(dtype=dtype)
        return Observed([Parts(one, 0.7, 0.1, 0.2)]).at(context_of(one), lambda _: False).factors

    v6e = 1 + 0.22 * 560.44 / 153.02
    assert told("tpu-v6e", "bf16")[:3] == pytest.approx((v6e / 1.22, 1, 1), rel=1e-4)
    for cluster, dtype in (("tpu-v6e", "fp8"), ("dgx-a100-80gb", "bf16"), ("mine.yaml", "bf16")):
        assert told(cluster, dtype)[:3] == pytest.approx((1, 1, 1))


def test_a_step_on_one_machine_tells_of_another_by_their_balance() -> None:
    there, here = (row("m", cluster=name) for name in ("tpu-v5p", "tpu-v6e"))
    took = there._replace(seconds=1.1)
    observed = Observed([Parts(took, 1.0, 0.0, 0.0)])
    on_v5p, on_v6e = (observed.at(context_of(one), lambda _: True).factors for one in (there, here))
    assert 1.0 < on_v5p.products < 1.1
    moved = log(on_v5p.products) - log(1 + 0.22 * 166.004 / 153.016) + log(1.22)
    left = log(on_v6e.products) - log(1 + 0.22 * 560.44 / 153.016) + log(1.22)
    assert 0.4 * moved < left < moved


def test_errors_are_signed_and_absolute() -> None:
    found = errors([0.8, 1.05, 1.4])
    assert (found.rows, found.low, found.high) == (3, pytest.approx(-0.2), pytest.approx(0.4))
    assert found.mean == pytest.approx((0.2 + 0.05 + 0.4) / 3)
    assert found.median == pytest.approx(0.2)
    assert found.within_ten == pytest.approx(1 / 3)


def test_tau_counts_pairs_that_differ_by_three_per_cent() -> None:
    agreeing, close = [(1.0, 5.0), (2.0, 6.0)], [(1.0, 9.0), (1.02, 1.0)]
    assert tau([agreeing]) == 1.0
    assert tau([[(1.0, 6.0), (2.0, 5.0)]]) == -1.0
    assert tau([close]) is None
    assert tau([agreeing, close]) == 1.0
    assert tau([[(1.0, 5.0), (2.0, 5.0)]]) == 0.0


def test_regret_is_what_the_plan_ranked_first_costs() -> None:
    best, second = [(1.0, 5.0), (2.0, 6.0)], [(1.0, 6.0), (1.1, 5.0), (3.0, 7.0)]
    assert regret([best]) == (1, 0.0, 0.0)
    assert regret([best, second]) == (2, pytest.approx(0.05), pytest.approx(0.1))
    assert regret([[(1.0, 5.0), (1.5, 5.0)]]) == (1, 0.5, 0.5)  # of equals the slowest
    assert regret([best] * 9 + [second]) == (10, pytest.approx(0.01), 0.0)
    assert regret([]) is None


def test_an_interval_that_misses_pays_for_how_far() -> None:
    inside, outside = Band(1.0, 0.5, 2.0), Band(4.0, 0.5, 2.0)
    assert coverage([inside, outside]) == 0.5
    assert interval_score([inside]) == pytest.approx(log(4.0))
    assert interval_score([outside]) == pytest.approx(log(4.0) + 20.0 * log(2.0))


def test_factors_are_found_again_as_far_as_models_support_them() -> None:
    made = [Parts(row(f"m{at}", 1.2 * 4.0), 2.0, 1.0, 1.0) for at in range(9)]
    context = context_of(made[0].row)
    found = [
        Observed(made[:count]).at(context, lambda _: True).factors.of(made[0])
        for count in (1, 3, 9)
    ]
    assert 4.0 < found[0] < found[1] < found[2] < 1.2 * 4.0
    assert found[2] == pytest.approx(1.2 * 4.0, rel=0.02)
    none = Observed([]).at(context, lambda _: True)
    assert none.factors == Factors()
    assert none.deviation(made[0]) > Observed(made).at(context, lambda _: True).deviation(made[0])


def test_the_nearer_context_counts_more_and_leaves_less_unknown() -> None:
    def of(fold: str, seconds: float, cluster: str, plan: str, release: str = "1") -> Parts:
        one = row(fold, seconds, cluster=cluster)._replace(plan=plan, release=release)
        return Parts(one, 1.0, 0.0, 0.0)

    asked = of("asked", 1.0, "here", "{}")
    far = [
        of("a", 1.2, "here", "{}"),
        of("a", 1.2, "here", "{}", "2"),
        of("a", 1.2, "there", "{}"),
        of("a", 1.2, "there", '{"ep":8}'),
    ]
    fits = [Observed([one]).at(context_of(asked.row), lambda _: True) for one in far]
    found = [fit.factors.products for fit in fits]
    assert found == sorted(found, reverse=True) and len(set(found)) == 4 and found[-1] > 1.0
    apart = [fit.deviation(asked) for fit in fits]
    assert apart == sorted(apart)


def test_one_step_far_off_hardly_moves_the_factors_of_many() -> None:
    made = [Parts(row(f"m{at}", 1.1), 1.0, 0.0, 0.0) for at in range(8)]
    strange = Parts(row("strange", 3.0), 1.0, 0.0, 0.0)
    context = context_of(made[0].row)
    alone, beside = (
        Observed(of).at(context, lambda _: True).factors.products for of in (made, [*made, strange])
    )
    assert alone == pytest.approx(1.1, rel=0.02)
    assert beside == pytest.approx(alone, rel=0.04)


def test_beside_a_profile_the_rest_alone_is_fitted_and_taken_whole() -> None:
    made = [
        Parts(row("m", p + a + 2.5 * r)._replace(profile="mine"), p, a, r)
        for p, a, r in ((1, 1, 1), (5, 1, 2), (3, 0, 0.5))
    ]
    found = beside_profile(made)
    assert (found.products, found.attention, found.models) == (1.0, 1.0, 1)
    assert found.rest == pytest.approx(2.5, rel=1e-4)


def test_beside_a_profile_communication_has_its_own_factor_where_rows_tell_it_apart() -> None:
    made = [
        Parts(row("m", p + a + 3.0 * m + 2.0 * c)._replace(profile="mine"), p, a, m + c, c)
        for p, a, m, c in ((2, 1, 1, 0.1), (5, 1, 2, 3), (3, 0, 0.2, 1), (4, 1, 1, 1))
    ]
    found = beside_profile(made)
    assert found.rest == pytest.approx(3.0, rel=0.05)
    assert found.rest * found.communication == pytest.approx(2.0, rel=0.05)
    alike = [one._replace(communication=0.5 * one.rest) for one in made]
    assert beside_profile(alike).communication == pytest.approx(1.0, abs=0.01)


def test_beside_a_profile_dense_models_and_experts_are_fitted_together() -> None:
    dense, experts = (
        [
            Parts(
                row(f"{name}{at}", 4.0 + at)._replace(profile="mine", plan=plan), 1.0 + at, 1.0, 1
            )
            for at in range(3)
        ]
        for name, plan in (("d", "{}"), ("e", '{"ep":8}'))
    )
    found = judged([*dense, *experts], unseen=False)[0]
    assert found.factors == beside_profile([*dense[1:], *experts])


def test_rows_of_one_profile_are_one_pool_of_residuals() -> None:
    dense = [
        Parts(
            row(f"m{at % 4}", 2.0 * exp(0.01 * (at % 5 - 2)))._replace(profile="mine"), 1.0, 0, 1.0
        )
        for at in range(20)
    ]
    others = [
        Parts(row(f"o{at % 4}", exp(0.5 * (at % 5 - 2)), "other"), 1.0, 0, 0) for at in range(20)
    ]
    found = with_intervals(judged([*dense, *others], unseen=False))
    assert all(one.half_width < 0.05 for one in found[:20])


def test_a_stack_of_old_attention_kernels_has_their_time_in_its_factor() -> None:
    old = row("m", 6.0, stack="fsdp-eager-2023", cluster="dgx-a100-80gb")
    ours = Parts(old, 1.0, 1.8 * 2.0, 1.4)
    bare = with_tables_attention(ours)
    assert (bare.products, bare.attention, bare.rest) == (1.0, pytest.approx(2.0), 1.4)
    other = ours._replace(row=row("m", 6.0))
    assert with_tables_attention(other) == other


def test_the_half_width_holds_nine_of_ten() -> None:
    assert half_width([0.01 * at for at in range(1, 20)]) == pytest.approx(0.18)
    assert half_width([0.1] * 8) == float("inf")


def test_no_row_is_judged_by_a_fit_that_saw_its_model() -> None:
    slow = [Parts(row("slow", 9.0), 1.0, 0.0, 0.0)] * 3
    others = [Parts(row(f"m{at}", 1.0), 1.0, 0.0, 0.0) for at in range(4)]
    found = judged([*slow, *others], unseen=False)
    assert found[0].seconds == pytest.approx(1.0, rel=0.01)
    strange = judged([*slow, *others], unseen=True)
    assert [one.basis for one in strange] == ["other stacks"] * 7
    assert [one.seconds for one in strange] == [1.0] * 7


def test_plans_that_are_known_better_have_the_narrower_interval() -> None:
    made = []
    for at in range(240):
        tp = 1 + at % 2
        off = (0.02 if tp == 1 else 0.2) * ((at * 7919 % 41 - 20) / 20)
        one = row(f"m{at % 6}", exp(off))._replace(plan=f'{{"tp":{tp},"micro_batch":4}}')
        made.append(Parts(one, 1.0, 0.0, 0.0))
    known = judged(made, unseen=False)
    found = with_intervals(known)
    widths = {shape_of(one.parts.row): one.half_width for one in found}
    assert widths[1, 4] < 0.04 < 0.12 < widths[2, 4] < 0.25
    for tp in (1, 2):
        bands = [one.band for one in found if shape_of(one.parts.row)[0] == tp]
        assert 0.8 <= coverage(bands) <= 0.98
    by_plan = widths_by_plan([one.row for one in made], residuals(known))
    assert set(by_plan) == {(1,), (1, 4), (2,), (2, 4)}
    assert by_plan[1, 4][0] == 120


def off(fold: str, stack: str, size: float) -> Judged:
    """Return a row that is off by `size` of its deviation, which is 1."""
    one = row(fold, exp(size), stack=stack)
    return Judged(Parts(one, 1.0, 0.0, 0.0), Factors(), "", 1.0, deviation=1.0)


@pytest.mark.parametrize("models", [0, 2, 5, 9])
def test_a_step_of_a_stack_of_few_models_is_within_as_many_intervals_as_stated(
    models: int,
) -> None:
    rng, held = np.random.default_rng(models), []
    for _ in range(400):
        scatters = 0.08 * np.exp(rng.normal(0.0, 0.3, 8))  # of stacks, this one and others
        others = [
            off(f"m{at}", f"s{stack}", float(rng.normal(0.0, scatter)))
            for stack, scatter in enumerate(scatters)
            for at in range(6 if stack else models)
        ]
        width = pooled(row("new", 1.0, stack="s0"), others)(1.0)
        held.append(abs(rng.normal(0.0, scatters[0])) <= width)
    assert 0.85 <= np.mean(held) <= 0.97


def test_one_bad_stack_of_several_hardly_widens_the_intervals_of_another() -> None:
    def of(stack: str, size: float) -> list[Judged]:
        return [off(f"m{at}", stack, size * (-1) ** at) for at in range(8)]

    def width(others: list[Judged], deviation: float = 1.0) -> float:
        return pooled(row("new", stack="a"), of("a", 0.1) + others)(deviation)

    good = of("b", 0.1) + of("c", 0.1)
    assert width([]) == width(good) == pytest.approx(0.1 * student(8 + NU))
    assert width(good) < width(good + of("d", 2.0)) < 0.5 * width(of("d", 2.0))
    assert width(good, 2.0) == pytest.approx(2.0 * width(good))


def test_a_measured_step_is_within_as_many_intervals_as_stated() -> None:
    parts = [
        Parts(row(f"m{at % 5}", exp((at * 7919 % 41 - 20) / 100)), 1.0, 0.0, 0.0)
        for at in range(200)
    ]
    found = with_intervals(judged(parts, unseen=False))
    assert 0.85 <= coverage([one.band for one in found]) <= 0.97
    assert all(abs(residual(one.factors, one.parts)) < 1 for one in found)


def test_every_row_has_a_time_and_a_plan_of_its_ranks() -> None:
    assert len(rows()) == 1036
    for one in rows():
        assert one.seconds > 0
        assert one.made_plan().ranks == one.ranks
    assert {one.dataset for one in rows() if one.alloc_gib} == {
        "simumax_b200",
        "mlperf_8b",
        "mlperf_405b",
    }
