"""What a layer counts on one rank, against Calculon (Isaev et al., SC 2023): no mask, separate
kernels, dropout, no biases (data/calculon.json).
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.validation.calculon_machine import RECOMPUTE, blocks_of
from tests.validation.published import DATA
from yantra.chakra import CollectiveType
from yantra.workloads.models.model import Model
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work

PLANS = json.loads((DATA / "calculon.json").read_text(encoding="utf-8"))["plans"]
COMM_PHASES = {
    "baseblock_fw_tp_size": ("forward",),
    "baseblock_bw_tp_size": ("dgrad",),
    "baseblock_recomm_size": ("recompute", "wgrad"),
}
every_plan = pytest.mark.parametrize("row", PLANS, ids=lambda row: row["name"])


def model(row: dict[str, Any], causal: bool = False) -> Model:
    sizes = row["model"]
    return blocks_of(sizes, causal=causal, ffn_hidden_size=4 * sizes["hidden"], kv_channels=0)


def plan(row: dict[str, Any]) -> Plan:
    given = row["execution"]
    recompute: Any = RECOMPUTE[given["activation_recompute"]]
    return Plan(
        tp=given["tensor_par"],
        pp=given["pipeline_par"],
        vpp=given["pipeline_interleaving"],
        dp=given["data_par"],
        zero=1 if given["optimizer_sharding"] else 0,
        micro_batch=given["microbatch_size"],
        global_batch=given["batch_size"],
        recompute=recompute,
        sequence_parallel=given["tensor_par_comm_type"] == "rs_ag",
        flash_attention=False,
        dropout=True,
        dtype="fp16",
    )


def layer_of(row: dict[str, Any]) -> StageWork:
    sequence = row["model"]["seq_size"]
    return stage_work(
        model(row), plan(row), layers=(1, 2), front=False, tail=False, sequence=sequence
    )


def counted(work: StageWork) -> Counter[tuple[str, str]]:
    count: Counter[tuple[str, str]] = Counter()
    for operation in (*work.forward.operations, *work.backward.operations):
        phase = operation.phase
        count["flops", phase] += operation.tensor_flops + operation.vector_flops
        count["moved", phase] += operation.bytes_read + operation.bytes_written
    return count


def communicated(work: StageWork, t: int) -> Counter[str]:
    count: Counter[str] = Counter()
    for operation in (*work.forward.operations, *work.backward.operations):
        if operation.collective is not None:
            shards = t if operation.collective == CollectiveType.ALL_GATHER else 1
            count[operation.phase] += shards * operation.size_bytes
    return count


@every_plan
def test_operations_agree(row: dict[str, Any]) -> None:
    count = counted(layer_of(row))
    stats = row["stats"]
    for phase, key in (("forward", "fw"), ("dgrad", "agrad"), ("wgrad", "wgrad")):
        tolerance = 1e-3 if phase == "wgrad" else 3e-4  # without SP it counts the norms' gradients
        theirs = stats[f"block_{key}_flops"]
        assert count["flops", phase] == pytest.approx(theirs, rel=tolerance), phase
    if row["execution"]["activation_recompute"] == "full":
        assert count["flops", "recompute"] == count["flops", "forward"]


@every_plan
def test_weights_agree_but_for_the_biases(row: dict[str, Any]) -> None:
    h, t = row["model"]["hidden"], row["execution"]["tensor_par"]
    biases = 3 * h // t + h + 4 * h // t + h
    theirs = row["stats"]["block_weight_space"] // 2
    assert sum(weight.elements for weight in layer_of(row).weights) == theirs + biases
    assert biases < 0.0004 * theirs


@every_plan
def test_communication_agrees_to_the_byte(row: dict[str, Any]) -> None:
    work = layer_of(row)
    count = communicated(work, row["execution"]["tensor_par"])
    for key, phases in COMM_PHASES.items():
        assert sum(count[phase] for phase in phases) == row["stats"][key], key
    if row["execution"]["pipeline_par"] > 1:
        assert work.output_bytes == row["stats"]["block_fw_pp_size"]
        assert work.input_bytes == row["stats"]["block_bw_pp_size"]


@every_plan
def test_saved_activations_agree_to_the_byte(row: dict[str, Any]) -> None:
    saved = sum(operation.saves for operation in layer_of(row).forward.operations)
    stats = row["stats"]
    assert saved == stats["block_act_storage_space"] + stats["block_act_checkpoint_size"]


@every_plan
def test_kernels_move_less_as_masks_are_fused(row: dict[str, Any]) -> None:
    ours = counted(layer_of(row))["moved", "forward"]
    assert 0.7 < ours / row["stats"]["block_fw_mem_accessed"] < 0.91
