"""Dispatch and combine of DeepEP: who gets a token, bytes, published times, in a step."""

from __future__ import annotations

from itertools import combinations
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.accuracy import deepep as accuracy
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.collectives.charges import charges
from yantra.collectives.deepep.constants import LINKS, fit_of, fits
from yantra.collectives.deepep.law import (
    DIRECTIONS,
    Direction,
    Exchange,
    Kernels,
    bytes_of,
    exchange,
    time_us,
    unblocked,
)
from yantra.collectives.deepep.routing import Amount, reached, row_bytes, traffic, traffic_of_each
from yantra.collectives.selection import checked_choices, is_timed, selection_of
from yantra.collectives.selection.selection import Group, Link, Timed
from yantra.fabric import clusters

KERNELS: tuple[Kernels, ...] = ("normal", "elastic", "low_latency")


def of(**changes: Amount) -> Exchange:
    usual: dict[str, Amount] = {
        "tokens": 4096, "hidden": 7168, "top_k": 8, "experts": 256, "ranks": 16, "local": 8,
        "sms": 20, "link": 450, "adapter": 50,
    }  # fmt: skip
    return exchange(**(usual | changes))


@pytest.mark.parametrize(
    ("groups", "top_k", "experts"), [(2, 2, 4), (4, 3, 8), (2, 3, 6), (8, 2, 8)]
)
def test_a_token_reaches_as_many_groups_as_all_its_choices_do_on_average(
    groups: int, top_k: int, experts: int
) -> None:
    inside = experts // groups
    counts = [len({e // inside for e in chosen}) for chosen in combinations(range(experts), top_k)]
    assert reached(groups, top_k, experts) == pytest.approx(sum(counts) / len(counts))


@given(
    st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([1, 2, 4, 8]), st.integers(1, 10),
    st.sampled_from([1, 2, 8, 16]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_sending_a_token_once_to_a_node_never_sends_more(
    nodes: int, local: int, top_k: int, each: int
) -> None:
    ranks = nodes * local
    experts = ranks * each
    chosen = min(top_k, experts)
    once = traffic(8, 64, top_k=chosen, experts=experts, ranks=ranks, local=local)
    every = traffic_of_each(8, 64, top_k=chosen, ranks=ranks, local=local)
    assert once.rdma <= every.rdma + 1e-6
    assert once.copied <= every.copied + 1e-6
    if local == each == 1:  # one GPU a node with one expert each: nothing is saved
        assert once.rdma == pytest.approx(every.rdma)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_routing_limited_to_nodes_sends_to_these_less_the_own_share(limit: int) -> None:
    sent = bytes_of(of(ranks=64, limit=limit), "fp8", "normal")
    nodes = reached(8, 8, 256) if limit > 7 else min(limit, float(reached(8, 8, 256)))
    assert sent.rdma == pytest.approx(4096 * row_bytes(7168, "fp8") * nodes * (1 - 1 / 8))


def test_a_row_in_fp8_has_a_scale_for_every_128_elements() -> None:
    assert row_bytes(7168, "fp8") == 7168 + 4 * 56
    assert row_bytes(200, "fp8") == 200 + 8
    assert row_bytes(7168, "bf16") == 2 * 7168


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_more_tokens_take_longer_and_more_sms_or_faster_links_never_do(
    kernels: Kernels, direction: Direction
) -> None:
    constants = fit_of("h100_sxm", kernels, direction).constants

    def us(**changes: float) -> float:
        return float(time_us(constants, of(**changes), accuracy.DTYPES[direction], kernels))

    assert us(tokens=8192) > us() > us(tokens=1) > 0
    assert us(sms=40) <= us()
    assert us(link=900) <= us()
    assert us(adapter=100) < us()
    assert us(load=1.5) > us()
    assert us(load=2.0) == pytest.approx(us(tokens=8192))  # all that moves is in proportion


@pytest.mark.parametrize("kernels", KERNELS)
def test_a_column_of_exchanges_is_each_of_them(kernels: Kernels) -> None:
    constants = fit_of("b200_sxm", kernels, "dispatch").constants
    tokens, top_k = np.array([1.0, 64, 4096]), np.array([1.0, 4, 8])
    whole = time_us(constants, of(tokens=tokens, top_k=top_k), "fp8", kernels)
    each = [
        float(time_us(constants, of(tokens=t, top_k=k), "fp8", kernels))
        for t, k in zip(tokens, top_k, strict=True)
    ]
    assert whole.tolist() == pytest.approx(each)


def test_published_rates_are_predicted_within_15_percent_and_in_their_intervals() -> None:
    rows = accuracy.rows()
    assert len(rows) == 10
    assert max(abs(row.error) for row in rows) <= 0.15
    assert sum(row.low <= row.published <= row.high for row in rows) >= 9


def test_configurations_that_a_fit_did_not_see_are_within_10_percent_on_average() -> None:
    assert len(fits()) == len(LINKS) * 2 * 2
    assert max(fit.mean_error for fit in fits().values()) <= 0.10
    assert all(0 < fit.mean_error < fit.p90_error < inf for fit in fits().values())


def chosen(group: Group, **options: object) -> Timed:
    usual = {"gpu": "h100_sxm", "hidden": 7168, "top_k": 8, "experts": 256}
    selection = selection_of(Plugin(kind="deepep", options=tuple((usual | options).items())))
    (only,) = checked_choices(selection, "all_to_all", group).values()
    assert is_timed(only)
    return only


def group_of(ranks: int, local: int) -> Group:
    return Group(ranks, (("switch", 8), ("switch", 8)), None, 0, local)


def test_a_dispatch_and_a_combine_of_a_step_take_the_time_of_the_pair() -> None:
    timed = chosen(group_of(16, 8))
    size = 1 << 28
    ns = dict(timed.points)[size]
    tokens = size / (2 * 7168 * 8)
    pair = [
        float(
            time_us(fit_of("h100_sxm", "normal", one).constants, of(tokens=tokens), dtype, "normal")
        )
        for one, dtype in accuracy.DTYPES.items()
    ]
    assert 2 * ns == pytest.approx(1e3 * sum(pair))
    assert "over nodes as on h100_sxm" in timed.basis
    assert timed.interval > 0.25


def test_others_are_chosen_by_others_and_groups_of_other_sizes_too() -> None:
    options = {
        "gpu": "h100_sxm", "hidden": 7168, "top_k": 8, "experts": 256, "ranks": 16,
        "others": Plugin(kind="measured", options=(("system", "h100"),)),
    }  # fmt: skip
    selection = selection_of(Plugin(kind="deepep", options=tuple(options.items())))
    all_reduce, *_ = checked_choices(selection, "all_reduce", group_of(8, 8)).values()
    other, *_ = checked_choices(selection, "all_to_all", group_of(8, 8)).values()
    assert "NCCL" in all_reduce.basis  # type: ignore[union-attr]
    assert "NCCL" in other.basis  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "h100"}, "no measured dispatch and combine of 'h100'; expected one of h100_sxm"),
        ({"top_k": 300}, "expected at most the 256 experts there are, got 300"),
    ],
)
def test_what_was_not_measured_or_cannot_be_is_refused(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        chosen(group_of(16, 8), **options)


def test_gpus_have_the_names_of_tables_that_clusters_use() -> None:
    assert clusters.load("hgx-h100").tables in LINKS


@pytest.mark.parametrize("kernels", KERNELS)
def test_links_are_charged_what_both_directions_send(kernels: Kernels) -> None:
    timed = chosen(group_of(16, 8), kernels=kernels)
    size, tokens = 1 << 30, (1 << 30) / (2 * 7168 * 8)
    sent = [bytes_of(of(tokens=tokens), dtype, kernels) for dtype in accuracy.DTYPES.values()]
    shares = {"near": 0.0, "far": 0.0}
    for one in charges("DeepEP", "all_to_all", 16, 8, timed.once, timed.near):
        shares["far" if one.node else "near"] += one.share
    assert shares["near"] * size == pytest.approx(sum(float(one.nvlink) for one in sent) / 2)
    assert shares["far"] * size == pytest.approx(sum(float(one.rdma) for one in sent) / 2)


@pytest.mark.parametrize("kernels", KERNELS)
def test_an_ideal_network_leaves_copies_and_launches(kernels: Kernels) -> None:
    def times(*, bytes_: bool, hops: bool) -> list[float]:
        links = (Link(370.8, 300.0, bytes_, hops), Link(48.5, 1350.0, bytes_, hops))
        group = group_of(16, 8)._replace(links=links)
        return [ns for _, ns in chosen(group, kernels=kernels).points]

    usual = times(bytes_=False, hops=False)
    no_bytes, ideal = times(bytes_=True, hops=False), times(bytes_=True, hops=True)
    assert usual == [ns for _, ns in chosen(group_of(16, 8), kernels=kernels).points]
    assert all(0 < c <= b <= a for a, b, c in zip(usual, no_bytes, ideal, strict=True))
    assert no_bytes[-1] < usual[-1] and ideal[0] < usual[0]


MEASURED_OVER_NODES = (
    # AIConfigurator's h100_sxm/sglang/0.5.0 (Apache-2.0), 7168 hidden, 8 of 256 experts, transmit
    # and notify together: nodes, SMs, tokens, us of dispatch, us of combine.
    (2, 20, 1, 58.4, 84.0),
    (2, 20, 1024, 295.1, 667.3),
    (2, 8, 16384, 7831.5, 18749.2),
    (2, 24, 131072, 22012.4, 49629.1),
    (8, 20, 1, 136.2, 140.0),
    (8, 8, 1024, 1686.7, 3551.0),
    (8, 20, 16384, 24361.2, 49084.0),
    (8, 24, 131072, 199949.0, 406417.0),
)


@pytest.mark.parametrize(("nodes", "sms", "tokens", "dispatch", "combine"), MEASURED_OVER_NODES)
def test_normal_kernels_over_nodes_take_what_was_measured(
    nodes: int, sms: int, tokens: int, dispatch: float, combine: float
) -> None:
    at = of(ranks=8 * nodes, sms=sms, tokens=tokens)
    for one, us in zip(DIRECTIONS, (dispatch, combine), strict=True):
        fit = fit_of("h100_sxm", "normal", one)
        ours = float(time_us(fit.constants, at, accuracy.DTYPES[one], "normal"))
        assert abs(log(ours / us)) <= fit.interval(nodes)


def test_more_nodes_leave_less_of_an_adapter_and_never_less_than_many_do() -> None:
    left = unblocked(np.arange(1.0, 200.0))
    assert (np.diff(left) < 0).all()
    assert left[0] == 1.0 and left[-1] == pytest.approx(2 - 2**0.5, abs=2e-3)
