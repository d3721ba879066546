"""A model of one layer, worked out by hand: every node, its size and what it waits for.

Width 16, 8 rows over dp=2, columns over tp=2: a rank has 4 rows of 16, 16 x 8 of the weight.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, Trace
from yantra.workloads.importers.stg import Settings, from_stg
from yantra.workloads.templates import Workload

TINY = Path(__file__).parent / "tiny"
GATHER, REDUCE = int(CollectiveType.ALL_GATHER), int(CollectiveType.ALL_REDUCE)


def tiny(**changes: Any) -> Workload:
    plan = {"dp": 2, "tp": 2, "num_stacks": 1, "batch": 8, **changes}
    return from_stg(Settings(**plan), assembly=str(TINY / "model.yaml"))


def rows(trace: Trace) -> dict[str, dict[str, object]]:
    names = {node.id: node.name for node in trace}
    return {
        node.name: {item.name: item.value for item in node.attributes}
        | {"after": [names[id] for id in node.data_deps]}
        for node in trace
    }


LAYER = "mb0.layer.0.dense"
GATHERED = f"{LAYER}.y: all_gather over tp"
SUMMED = f"{LAYER}.dx: all_reduce over tp"
WEIGHT = "layer.0._sharded_weight@1"
GRADIENT = "mb0.layer.0._sharded_grad: all_reduce over dp"


def test_upstreams_units_are_products_and_elements() -> None:
    found = rows(tiny(units="stg").template("stage0"))
    counts = {
        name: (row["num_ops"], row["tensor_size"])
        for name, row in found.items()
        if "num_ops" in row
    }
    assert counts == {
        f"{LAYER}.part": (4 * 8 * 16, 4 * 8),
        f"{LAYER}.y": (2 * 4 * 16, 4 * 16),
        "mb0.loss.dy": (4 * 16, 4 * 16),
        f"{LAYER}.dw": (16 * 8 * 4, 16 * 8),
        f"{LAYER}.dpart": (4 * 16 * 8, 4 * 16),
        "layer.0._sharded_grad": (16 * 8, 16 * 8),
        WEIGHT: (16 * 8, 16 * 8),
    }
    moved = {
        name: (row["comm_type"], row["comm_size"], row["pg_name"])
        for name, row in found.items()
        if "comm_size" in row
    }
    assert moved == {
        GATHERED: (GATHER, 4 * 8, "tp"),
        SUMMED: (REDUCE, 4 * 16, "tp"),
        GRADIENT: (REDUCE, 16 * 8, "dp"),
    }


def test_our_units_are_flop_and_bytes() -> None:
    """Weights and activations in bf16, gradients of weights in fp32."""
    found = rows(tiny().template("stage0"))
    numbers = ("num_ops", "bytes_read", "bytes_written")
    counts = {
        name: tuple(row[n] for n in numbers) for name, row in found.items() if "num_ops" in row
    }
    assert counts == {
        f"{LAYER}.part": (2 * 512, 2 * (64 + 128), 2 * 32),
        f"{LAYER}.y": (128, 2 * 64, 2 * 64),
        "mb0.loss.dy": (64, 2 * 64, 2 * 64),
        f"{LAYER}.dw": (2 * 512, 2 * (32 + 64), 4 * 128),
        f"{LAYER}.dpart": (2 * 512, 2 * (32 + 128), 2 * 64),
        "layer.0._sharded_grad": (128, 4 * 128, 4 * 128),
        WEIGHT: (128, (2 + 4) * 128, 2 * 128),
    }
    assert all(
        row["tensor_size"] == int(str(row["bytes_read"])) + int(str(row["bytes_written"]))
        for row in found.values()
        if "num_ops" in row
    )
    sizes = {name: row["comm_size"] for name, row in found.items() if "comm_size" in row}
    assert sizes == {GATHERED: 2 * 32, SUMMED: 2 * 64, GRADIENT: 4 * 128}
    phases = {name: row["phase"] for name, row in found.items() if "phase" in row}
    assert phases[f"{LAYER}.part"] == "forward"
    assert phases[f"{LAYER}.dpart"] == "dgrad"
    assert phases[f"{LAYER}.dw"] == "wgrad"
    assert phases[WEIGHT] == "optimizer"


def test_operations_wait_for_what_they_read() -> None:
    found = rows(tiny().template("stage0"))
    assert {name: row["after"] for name, row in found.items()} == {
        f"{LAYER}.part": [],
        GATHERED: [f"{LAYER}.part"],
        f"{LAYER}.y": [GATHERED],
        "mb0.loss.dy": [f"{LAYER}.y"],
        f"{LAYER}.dw": ["mb0.loss.dy"],
        f"{LAYER}.dpart": ["mb0.loss.dy"],
        SUMMED: [f"{LAYER}.dpart"],
        GRADIENT: [f"{LAYER}.dw"],
        "layer.0._sharded_grad": [GRADIENT],
        WEIGHT: ["layer.0._sharded_grad"],
    }


def test_sharded_weights_are_gathered_and_their_gradients_scattered() -> None:
    found = rows(tiny(units="stg", weight_sharded=True).template("stage0"))
    sizes = {name: row["comm_size"] for name, row in found.items() if row.get("pg_name") == "dp"}
    assert sizes == {
        "mb0.layer.0._assembled_weight: all_gather over dp": 16 * 8 // 2,
        "mb0.layer.0._assembled_weight_backward: all_gather over dp": 16 * 8 // 2,
        "mb0.layer.0._sharded_grad: reduce_scatter over dp": 16 * 8,
    }


def test_gradients_of_micro_batches_are_added() -> None:
    found = rows(tiny(units="stg", micro_batch=2).template("stage0"))
    parts = [name for name in found if "_sharded_grad: all_reduce" in name]
    assert len(parts) == 4
    assert sorted(map(str, found["layer.0._sharded_grad"]["after"])) == sorted(parts)
    assert found["mb3.layer.0.dense.part"]["num_ops"] == 512 // 4


def test_stages_pass_activations_on_and_gradients_back() -> None:
    workload = tiny(pp=2, num_stacks=3, units="stg")
    assert workload.ranks == 8
    messages = [
        (stage, node.name, {item.name: item.value for item in node.attributes}["comm_peer"])
        for stage in workload.templates
        for node in workload.template(stage)
        if node.name.endswith(("send", "receive"))
    ]
    assert sorted(messages) == [
        ("stage0", "mb0.layer.1.dense.y: send", "pp=1"),
        ("stage0", "shadow_mb0.layer.2.dense.dx: receive", "pp=1"),
        ("stage1", "mb0.layer.2.dense.dx: send", "pp=0"),
        ("stage1", "shadow_mb0.layer.1.dense.y: receive", "pp=0"),
    ]


def test_what_the_ranks_cannot_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"dense.csv, row 4: the size Width/tp is 16/3"):
        tiny(tp=3)


def test_a_symbol_without_a_value_is_told(tmp_path: Path) -> None:
    settings = Settings(dp=2, num_stacks=1, batch=8)
    path = tmp_path / "misspelt.yaml"
    path.write_text((TINY / "model.yaml").read_text().replace("Width", "Witdh"))
    with pytest.raises(ConfigError, match="the symbol Width has no value; did you mean 'Witdh'"):
        from_stg(settings, str(TINY), str(path))
