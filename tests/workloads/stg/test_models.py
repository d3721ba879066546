"""The built-in models: upstream's totals, and laws of what they make."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.templates import Workload

RECORDED = json.loads((Path(__file__).parent / "data" / "totals.json").read_text())["cases"]
TOY = {"dmodel": 64, "dff": 128, "head": 8, "kvhead": 4, "dvocal": 96, "seq": 64}


def communication(workload: Workload) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = {}
    for template, ranks in workload.ranks_of_template().items():
        for kind, _, nodes, size in workload.totals[template]["communication"]:
            one = sums.setdefault(kind, [0, 0])
            one[0] += ranks * nodes
            one[1] += ranks * size
    return sums


def operations(workload: Workload, op_class: str | None = None) -> int:
    return sum(
        ranks * row[3]
        for template, ranks in workload.ranks_of_template().items()
        for row in workload.totals[template]["compute"]
        if op_class in (None, row[0])
    )


@pytest.mark.parametrize("name", RECORDED)
def test_the_totals_are_upstreams(name: str) -> None:
    case = RECORDED[name]
    workload = from_stg(Settings(**case["flags"], units="stg"))
    assert workload.ranks == case["ranks"]
    if "nodes_per_rank" in case:
        lengths = {workload.totals[name]["nodes"] for name in workload.templates}
        assert sorted(lengths) == case["nodes_per_rank"]
    assert operations(workload) == case["num_ops"]
    moved = communication(workload)
    sent, received = (moved.pop(kind, [0, 0]) for kind in ("send", "receive"))
    assert sent == received
    assert sent[1] == case["send"]
    assert moved == case["collectives"]


def model(kind: str, **changes: Any) -> Workload:
    plan = {"model_type": kind, "num_stacks": 4, "batch": 16, **TOY, **changes}
    return from_stg(Settings(**plan))


def products(kind: str) -> int:
    h, f, v = TOY["dmodel"], TOY["dff"], TOY["dvocal"]
    kv = TOY["kvhead"] if kind == "llama" else TOY["head"]
    qkv = h * h * (TOY["head"] + 2 * kv) // TOY["head"]
    layer = qkv + h * h + (3 if kind == "llama" else 2) * h * f
    return 4 * layer + 2 * v * h


def gates(kind: str) -> int:
    return 4 * 3 * TOY["dff"] if kind == "llama" else 0


@pytest.mark.parametrize("kind", ["gpt", "llama"])
@settings(max_examples=30)
@given(
    dp=st.sampled_from((1, 2, 4)),
    tp=st.sampled_from((1, 2, 4)),
    sp=st.sampled_from((1, 2)),
    pp=st.integers(1, 4),
    micro_batch=st.sampled_from((4, 8, 16)),
    weight_sharded=st.booleans(),
    tpsp=st.booleans(),
)
def test_products_are_shared_out_whole_whatever_the_plan(kind: str, **plan: Any) -> None:
    """One forward and two backward products of 2 FLOP per multiply-accumulate."""
    tokens = 16 * TOY["seq"]
    assert operations(model(kind, **plan), "gemm") == 2 * tokens * (
        3 * products(kind) + gates(kind)
    )


@pytest.mark.parametrize("kind", ["gpt", "llama", "moe"])
def test_bytes_are_twice_the_elements_and_gradients_four_times(kind: str) -> None:
    plan = {"dp": 2, "tp": 2, "sp": 2, "pp": 2, "num_stacks": 2}
    ours = communication(model(kind, **plan))
    theirs = communication(model(kind, **plan, units="stg", mixed_precision=True))
    single = communication(model(kind, **plan, gradient_dtype="bf16"))
    assert {name: size[0] for name, size in ours.items()} == {n: s[0] for n, s in theirs.items()}
    assert {name: size[1] for name, size in single.items()} == {
        name: 2 * size for name, (_, size) in theirs.items()
    }
    gradients = ours["all_reduce"][1] - single["all_reduce"][1]
    assert gradients > 0
    assert ours["all_gather"] == single["all_gather"]


def test_a_chain_of_collectives_carries_what_the_one_before_left() -> None:
    sizes: dict[str, Counter[tuple[str, int]]] = {}
    for units in ("stg", "yantra"):
        workload = model("gpt", dp=2, sp=2, weight_sharded=True, units=units, gradient_dtype="bf16")
        sizes[units] = Counter(
            (str(values["pg_name"]), int(str(values["comm_size"])))
            for node in workload.template("stage0")
            if "_sharded_grad" in node.name
            and "pg_name" in (values := {a.name: a.value for a in node.attributes})
        )
    whole = max(size for _, size in sizes["stg"])
    assert sizes["stg"] == {("dp", whole): 4, ("cp", whole): 4}
    assert sizes["yantra"] == {("dp", 2 * whole): 4, ("cp", whole): 4}


def test_a_file_is_the_same_whenever_it_is_made(tmp_path: Path) -> None:
    for name in ("one.yw", "other.yw"):
        model("llama", dp=2, pp=2).save(tmp_path / name)
    assert (tmp_path / "one.yw").read_bytes() == (tmp_path / "other.yw").read_bytes()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model_type": "gtp"}, "model_type: expected one of .* did you mean 'gpt'"),
        ({"dp": 0}, "dp: expected at least 1, got 0"),
        ({"micro_batch": 3}, "micro_batch: expected a divisor of the batch, 16; got 3"),
        ({"pp": 8}, "num_stacks: expected at least one layer for each of the 8 stages, got 4"),
        ({"model_type": "moe", "ep": 3}, "ep: expected a divisor of the 8 experts; got 3"),
        ({"model_type": "moe", "tpsp": False}, "tpsp: moe needs it"),
        ({"model_type": "decoding", "ep": 2}, "ep: decoding has no experts"),
        ({"model_type": "prefilling", "micro_batch": 4}, "micro_batch: prefilling has no micro"),
        ({"model_type": "prefilling", "pp": 4, "layer_each_stage": 9}, "pp: .* stage 1 has none"),
        ({"dtype": "bf61"}, "dtype: expected one of .*bf16.* got 'bf61'"),
        ({"dp": 3}, "built-in embedding: the size MicroBatch/dp is 16/3"),
        ({"tp": 16}, "built-in attention: the size 3\\*Head/tp is 3/2"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        model(changes.pop("model_type", "gpt"), **changes)


def test_upstreams_llama_is_a_gpt_and_says_so() -> None:
    made = model("llama", units="stg")
    assert made.sections["notes"] == [
        "units stg: a llama without mixed_precision is upstream's gpt"
    ]
    assert operations(made) == operations(model("gpt", units="stg"))
    assert model("llama").sections["notes"] == []
