"""Models that are no decoders have the published sizes, and their passes keep all laws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.workloads.graph.chunks import chunk, operations, setting, traffic
from yantra.base.errors import ConfigError
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks import MLP, Attention, Layer
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.blocks.parallel_layer import ParallelLayer
from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.model import Model
from yantra.workloads.operators.graph import Batch, Setting
from yantra.workloads.operators.graph.operators.scan import States
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk
from yantra.workloads.training.train import train

PUBLISHED = {  # weights; products (MACs) of a forward pass of one image or sample
    # torchvision's tables: vit_b_16, vit_l_16, resnet50
    "vit-b/16": (86_567_656, 17.564e9),
    "vit-l/16": (304_326_632, 61.555e9),
    "resnet-50": (25_557_032, 4.089e9),
    # the model card: 336 M with both heads; the paper says 340 M and 110 M
    "bert-large": (336_226_108, None),
    "bert-base": (110_106_428, None),
    # state-spaces/mamba2-2.7b
    "mamba2-2.7b": (2_702_599_680, None),
    # arXiv 2212.09748, table 4: 675 M and 118.6; its 294,912 fixed positions are not trained
    "dit-xl/2": (675_129_632 - 294_912, 118.6e9),
    # MLCommons: 97.4 GiB in fp32
    "dlrm": (26_151_671_809, None),
}
NAMES = tuple(PUBLISHED)
SPLITS: dict[str, tuple[dict[str, Any], ...]] = {
    "vit-b/16": ({"tp": 2, "sequence_parallel": False}, {"tp": 4, "sequence_parallel": False}),
    "bert-base": ({"tp": 3, "sequence_parallel": False}, {"tp": 2}),
    "dit-xl/2": ({"tp": 2, "sequence_parallel": False},),
    "resnet-50": (),
    "dlrm": ({"ep": 2}, {"ep": 8}, {"ep": 26}, {"ep": 4, "edp": 2}),
    "mamba2-2.7b": (),
}
LENGTHS = {"bert-base": 64, "mamba2-2.7b": 300}


def few_layers(name: str) -> Model:
    model = model_of(zoo.get(name))
    return model if len(set(model.layers)) > 1 else model.replace(layers=model.layers[:2])


def work_of(name: str, sequences: int = 4, **split: Any) -> StageWork:
    model = few_layers(name)
    length = LENGTHS.get(name, model.sequence)
    axes = {axis: split.pop(axis, 1) for axis in ("tp", "cp", "ep", "etp", "edp")}
    split.setdefault("sequence_parallel", axes["tp"] > 1)
    how = Setting(batch=Batch.of(sequences, length), axes=axes, **split)
    return Chunk(model, how, (0, len(model.layers)), True, True).work()


def products(work: StageWork) -> int:
    return sum(
        item.tensor_flops - item.repeated_flops
        for item in operations(work)
        if item.phase != "recompute"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_the_published_size(name: str) -> None:
    weights, macs = PUBLISHED[name]
    model = model_of(zoo.get(name))
    assert model.parameters() == weights
    if macs is not None:
        assert model.flops() == pytest.approx(2 * macs, rel=3e-4)
    assert model.flops(batch=3) == 3 * model.flops()


def test_nothing_is_cached_without_a_causal_mask() -> None:
    assert {name: model_of(zoo.get(name)).kv_bytes_per_token() for name in NAMES} == dict.fromkeys(
        NAMES, 0
    )


@pytest.mark.parametrize("recompute", ["none", "full", "selective", "operators"])
@pytest.mark.parametrize("name", SPLITS)
def test_what_is_kept_is_freed_and_nothing_waits_for_later(name: str, recompute: str) -> None:
    for split in ({}, *SPLITS[name]):
        work = work_of(name, **split, recompute=recompute)
        kept = 0
        for operation in operations(work):
            kept += operation.saves - operation.frees
            assert kept >= 0
        assert kept == 0
        for passed in (work.forward, work.backward):
            for at, operation in enumerate(passed.operations):
                assert all(before < at for before in operation.after)


@pytest.mark.parametrize("name", [name for name in SPLITS if SPLITS[name]])
def test_a_split_changes_what_each_rank_does_but_not_the_sum(name: str) -> None:
    one = work_of(name)
    for split in SPLITS[name]:
        work = work_of(name, **split)
        alike = {item.name: item.tensor_flops for item in operations(one)}
        ways = split.get("tp", 1)
        total = 0
        for item in operations(work):
            own = item.tensor_flops - item.repeated_flops
            total += own if own == alike.get(item.name) else own * ways
        assert total == products(one)


@pytest.mark.parametrize("name", ["vit-b/16", "bert-base", "dit-xl/2", "resnet-50", "dlrm"])
def test_training_takes_three_times_the_products_but_for_the_gradient_of_data(name: str) -> None:
    work = work_of(name)
    forward = {i.name: i.tensor_flops for i in work.forward.operations if i.tensor_flops}
    backward = Counter[str]()
    for item in work.backward.operations:
        forward_name = item.name.removesuffix(".dgrad").removesuffix(".wgrad")
        backward[forward_name] += item.tensor_flops - item.repeated_flops
    first = [name for name, flops in forward.items() if backward[name] == flops]
    assert all(backward[name] in (flops, 2 * flops) for name, flops in forward.items())
    expected = {
        "vit-b/16": ["embedding.patches"],
        "dit-xl/2": ["embedding.patches", "embedding.time.in"],
        "resnet-50": ["embedding.conv"],
        "dlrm": ["embedding.bottom.0"],
        "bert-base": [],
    }
    assert first == expected[name]


@pytest.mark.parametrize(
    ("name", "split", "problem"),
    [
        ("resnet-50", {"tp": 2}, "tp: convolutions are split over data alone; expected 1"),
        ("resnet-50", {"cp": 2}, "cp: convolutions are split over data alone; expected 1"),
        ("dit-xl/2", {"tp": 2}, "sequence_parallel: a condition is not split along the sequence"),
        ("dit-xl/2", {"cp": 2}, "cp: a condition is not split along the sequence"),
        ("bert-base", {"cp": 2}, "cp: masked words do not spread evenly over a sequence"),
        ("mamba2-2.7b", {"tp": 2}, "1 groups of states cannot be split over 2 ranks; the nearest"),
        ("mamba2-2.7b", {"cp": 2}, "cp: a scan is not split along the sequence; expected 1"),
        ("dlrm", {"tp": 2}, "tp: a recommendation model is split over data and tables alone"),
        ("dlrm", {"ep": 3}, "ep: 3328 columns of tables cannot be split over 3 ranks"),
    ],
)
def test_a_split_that_a_family_does_not_have_is_refused(
    name: str, split: dict[str, int], problem: str
) -> None:
    with pytest.raises(ConfigError) as error:
        work_of(name, **split)
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("name", "plan", "weights"),
    [
        ("bert-large", Plan(tp=2, pp=2, dp=2, global_batch=8), None),
        ("dit-xl/2", Plan(pp=4, dp=2, global_batch=8, recompute="full"), 674_834_720),
        ("dlrm", Plan(dp=8, ep=4, micro_batch=64), 16_044_545 + 26_135_627_264 // 4),
        ("mamba2-2.7b", Plan(dp=8), 2_702_599_680),
        ("mamba2-2.7b", Plan(dp=8, zero=3), None),
        ("resnet-50", Plan(pp=2, dp=4, global_batch=8), 25_557_032),
        ("vit-b/16", Plan(tp=2, sequence_parallel=False, dp=4, zero=1), None),
    ],
)
def test_a_training_step_of_every_family_can_be_made(
    name: str, plan: Plan, weights: int | None
) -> None:
    workload = train(model_of(zoo.get(name)), plan)
    assert workload.ranks == 8
    if weights is not None:
        assert sum(stage["weights"] for stage in workload.memory.values()) == 2 * weights


def test_tables_exchange_indices_and_rows() -> None:
    """26 tables of 128 columns, 214 lookups a sample; 8 ranks hold 416 columns of all samples."""
    samples, ranks = 16, 8
    work = work_of("dlrm", sequences=samples, ep=ranks, edp=2)
    rows = samples * 26 * 128 * 2
    indices = samples * 214 * 8  # a rank holds whole tables and a part: one rank per column
    forward = [i for i in work.forward.operations if i.communicates]
    assert [(i.kind, i.group, i.size_bytes) for i in forward] == [
        ("all_to_all", "ep", indices),
        ("all_to_all", "ep", rows),
    ]
    backward = traffic(work.backward.operations)
    assert backward["all_to_all", "ep", rows] == 1
    assert backward["all_gather", "edp", rows + indices] == 1
    (table,) = [weight for weight in work.weights if weight.domain == "table"]
    assert table.elements == 204_184_588 * 128 // 8
    assert table.partial_over == ()


def test_a_condition_crosses_between_stages_with_its_patches() -> None:
    model = few_layers("dit-xl/2")
    chunked = Chunk(model, setting(4, 256), (0, 1), True, False).work()
    assert chunked.output_bytes == 4 * (256 + 1) * 1152 * 2


def test_a_scan_counts_the_products_of_its_chunks() -> None:
    """Two chunks of 4 tokens and one of 2: pairs 16 + 16 + 4, outer products 10 tokens."""
    sizes = States(heads=3, head_dim=5, state=7, groups=1, chunk=4)
    cost = sizes.cost(4).times(2).plus(sizes.cost(2))
    outer = 2 * 10 * 3 * 7 * 5
    assert cost.again == 2 * 36 * 7 + outer
    assert cost.tensor == 2 * 36 * 7 + 2 * 36 * 3 * 5 + 2 * outer


def test_a_scan_is_split_by_heads_and_groups() -> None:
    mixer = Mamba2(hidden=256, heads=8, head_dim=64, state=16, groups=4)
    layer = SingleLayer(hidden=256, block=mixer)
    one = chunk(layer, setting(2, 512), ends=False).work()
    for tp in (2, 4):
        split = chunk(layer, setting(2, 512, tp=tp), ends=False).work()
        assert products(split) * tp == products(one)
        size = 2 * 1024 * 256
        assert traffic(split.forward.operations) == {
            ("all_gather", "tp", size // tp): 2,
            ("reduce_scatter", "tp", size): 2,
        }
        whole = {weight.name: weight.elements for weight in one.weights}
        for weight in split.weights:
            is_whole = weight.name.endswith("input_norm.weight")
            assert weight.elements * (1 if is_whole else tp) == whole[weight.name]


@pytest.mark.parametrize(("kind", "sums"), [(Layer, 2), (ParallelLayer, 1), (SandwichLayer, 2)])
def test_branches_beside_each_other_are_summed_over_ranks_once(kind: Any, sums: int) -> None:
    layer = kind(
        hidden=256,
        attention=Attention(heads=8, kv_heads=8, head_dim=32),
        mlp=MLP(intermediate=1024),
    )
    one = chunk(layer, setting(2, 64), ends=False, count=1).work()
    work = chunk(layer, setting(2, 64, tp=4, sequence_parallel=False), ends=False, count=1).work()
    size = 2 * 128 * 256
    assert traffic(work.forward.operations) == {("all_reduce", "tp", size): sums}
    assert products(work) * 4 == products(one)
    kept = sum(item.saves - item.frees for item in operations(work))
    assert kept == 0
