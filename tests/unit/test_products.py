"""Products among kernels: batches of equal ones, and those of experts."""

from __future__ import annotations

import pytest

from yantra.base.fields import Plugin, PluginChoice
from yantra.compute import model_of
from yantra.compute.model import Device, Kernels, kernels
from yantra.compute.products import is_product, products_of

SYSTOLIC: PluginChoice = Plugin(kind="systolic", options=(("arrays", 1),))
DESCRIBED: PluginChoice = Plugin(kind="described", options=(("device", "a100"),))


def one(batch: int, m: int, n: int, k: int, flops: int, words: int) -> Kernels:
    return kernels([flops], [2 * words], "gemm", "bf16", batch=[batch], m=[m], n=[n], k=[k])


def sizes(rows: Kernels) -> list[float]:
    return [float(column[0]) for column in products_of(rows)]


def test_a_batch_is_so_many_products_of_the_size_it_says() -> None:
    flops = 2 * 8 * 64 * 32 * 16
    assert sizes(one(8, 64, 32, 16, flops, 1000)) == [64, 32, 16, 8]
    assert sizes(one(0, 64, 32, 16, flops // 8, 1000)) == [64, 32, 16, 1]


def test_experts_share_the_rows_of_a_grouped_product() -> None:
    m, n, k, experts = 32768, 14336, 4096, 8
    words = m * k + experts * k * n + m * n
    assert sizes(one(experts, m, n, k, 2 * m * n * k, words)) == [m / experts, n, k, experts]
    assert products_of(one(experts, m, n, k, 2 * m * n * k, words)).words[0] == words


def test_gradients_of_experts_share_the_sums() -> None:
    m, n, k, experts = 14336, 4096, 512, 8
    words = m * k + k * n + experts * m * n
    assert sizes(one(experts, m, n, k, 2 * m * n * k, words)) == [m, n, k / experts, experts]


def test_a_kernel_without_sizes_is_no_product() -> None:
    assert is_product(kernels([1, 1], [1, 1], m=[4, 4], n=[4, 4], k=[4, 0])).tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize("choice", [SYSTOLIC, DESCRIBED], ids=["systolic", "described"])
def test_a_grouped_product_takes_about_its_operations(choice: PluginChoice) -> None:
    m, n, k, experts = 1 << 18, 4096, 4096, 8
    words = m * k + experts * k * n + m * n
    rows = one(experts, m, n, k, 2 * m * n * k, words)
    taken = model_of(choice).estimate(rows, Device(312e12, 2e12)).middle[0]
    assert taken == pytest.approx(2 * m * n * k / 312e12 * 1e9, rel=0.05)
