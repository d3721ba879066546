"""An execution of Calculon as a scenario: its plan, its model, and its machine as it describes it.

Its machine has efficiencies in steps by size, arithmetic and traffic one after the other, and
networks whose collectives take

    latency + bytes x scalar x (1 + offset / ranks) / (bandwidth x efficiency)

Source: Isaev et al., SC 2023; `calculon/network.py` and `calculon/llm/layers.py` of caa4b11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yantra.base.fields import Plugin
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed
from yantra.scenario import Collectives, Device, Dimension, Scenario, Templates, Topology
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks import Layer
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

Tree = Mapping[str, Any]
RECOMPUTE = {"none": "none", "attn_only": "selective", "full": "full"}
_LARGEST = 1 << 42
_VOCABULARY = 128  # it has no embedding and no head


def blocks_of(sizes: Tree, *, causal: bool, **others: int) -> Model:
    form = zoo.get("gpt-1t")
    assert isinstance(form, Transformer)
    whole = model_of(
        form.replace(
            num_layers=sizes["num_blocks"],
            hidden_size=sizes["hidden"],
            num_attention_heads=sizes["attn_heads"],
            num_query_groups=0,
            **others,
        )
    )
    layer: Any = whole.layers[0]
    assert isinstance(layer, Layer)
    layer = layer.replace(attention=layer.attention.replace(causal=causal))
    return whole.replace(layers=(layer,) * sizes["num_blocks"])


def model(sizes: Tree) -> Model:
    return blocks_of(
        sizes,
        causal=False,
        ffn_hidden_size=sizes["feedforward"],
        kv_channels=sizes["attn_size"],
        vocab_size=_VOCABULARY,
    )


def plan(given: Tree) -> Plan:
    """Return the plan of an execution: nothing overlaps, and gradients have 16 bits."""
    how = given["tensor_par_comm_type"]
    t, v = given["tensor_par"], given["pipeline_interleaving"]
    recompute: Any = RECOMPUTE[given["activation_recompute"]]
    return Plan(
        tp=t,
        pp=given["pipeline_par"],
        dp=given["data_par"],
        vpp=v,
        schedule="interleaved-rounds" if v > 1 else "1f1b",
        micro_batch=given["microbatch_size"],
        global_batch=given["batch_size"],
        zero=1 if given["optimizer_sharding"] else 0,
        recompute=recompute,
        sequence_parallel=how == "rs_ag" and t > 1,
        messages="scattered" if how == "p2p_rs_ag" and t > 1 else "whole",
        gather_again=given["seq_par_ag_redo"],
        overlap_tensor=False,
        overlap_gradients=False,
        overlap_parameters=False,
        overlap_p2p=False,
        flash_attention=False,
        dropout=True,
        gradient_dtype="bf16",
    )


def scenario(given: Tree, sizes: Tree, system: Tree) -> Scenario:
    chosen = plan(given)
    apart = given["tensor_par_net"] == 0 and chosen.tp > 1
    inner, outer = system["networks"]
    parts = [(inner, chosen.tp), (outer, chosen.ranks // chosen.tp)] if apart else []
    used = [(net, size) for net, size in parts or [(outer, chosen.ranks)] if size > 1]
    rings = ("ring",) * len(used)
    nets = _networks(system, chosen.tp, [net for net, _ in used])
    return Scenario(
        workload=Templates(workload=train(model(sizes), chosen, sizes["seq_size"])),
        topology=Topology(dimensions=tuple(_dimension(net, size) for net, size in used)),
        device=_device(system),
        collectives=Collectives(
            all_reduce=rings,
            reduce_scatter=rings,
            all_gather=rings,
            all_to_all=("direct1",) * len(used),
            chunks=1,
            reductions="overlapped",
            selection=nets,
        ),
    )


def _dimension(net: Tree, size: int) -> Dimension:
    return Dimension(
        kind="switch",
        size=size,
        bytes_per_ns=net["bandwidth"] * net["efficiency"],
        latency_ns=net["latency"] * 1e9 / 2,
    )


def _steps(table: Sequence[Sequence[float]], unit: float, of: float = 1.0) -> tuple[Any, ...]:
    return tuple(sorted((int(size * unit), share * of) for size, share in table))


def _device(system: Tree) -> Device:
    tensor, vector = (system[name]["float16"] for name in ("matrix", "vector"))
    memory = system["mem1"]
    options = {
        "products": _steps(tensor["gflops_efficiency"], 1e9),
        "others": _steps(vector["gflops_efficiency"], 1e9, vector["tflops"] / tensor["tflops"]),
        "memory": _steps(memory["MB_efficiency"], 1e6),
        "together": False,
    }
    return Device(
        peak_flops=tensor["tflops"] * 1e12,
        memory_bytes_per_s=memory["GBps"] * 1e9,
        compute=Plugin(kind="efficiency_by_size", options=tuple(options.items())),
    )


def _networks(system: Tree, tp: int, used: list[Tree]) -> type[Selection]:
    """Return the times of collectives: of tensor-parallel groups on the innermost network."""

    class Networks(Selection):
        def choices(self, kind: str, group: Group) -> Sequence[Choice]:
            if kind not in used[0]["ops"] or group.ranks < 2:
                return ()
            is_tensor = group.lowest == 0 and tp > 1 and group.ranks == tp
            net = used[0] if is_tensor else used[-1]
            given = group.ranks if kind == "all_gather" else 1  # ranks that each give a part
            knees = [
                size // (2 * given) for size, _ in _steps(system["mem1"]["MB_efficiency"], 1e6)
            ]
            sizes = sorted({0, _LARGEST, *knees, *(max(knee - 1, 0) for knee in knees)})
            points = []
            for size in sizes:
                time = _collective_s(net, kind, size * given, group.ranks)
                time += _beside_s(system, kind, size * given, group.ranks) if is_tensor else 0.0
                points.append((size, time * 1e9))
            return (Choice(0, Timed(tuple(points), "Calculon")),)

    return Networks


def _collective_s(net: Tree, kind: str, size: int, ranks: int) -> float:
    scalar, offset = net["ops"][kind]
    moved = size * scalar * (1 + offset / ranks)
    return float(net["latency"] + moved / (net["bandwidth"] * 1e9 * net["efficiency"]))


def _beside_s(system: Tree, kind: str, size: int, ranks: int) -> float:
    memory, vector = system["mem1"], system["vector"]["float16"]
    moved = 2 * size
    time = moved / (memory["GBps"] * 1e9 * _share(memory["MB_efficiency"], moved / 1e6))
    if kind != "all_gather":
        added = size / 2 * (ranks - 1) / ranks
        share = _share(vector["gflops_efficiency"], added / 1e9)
        time += added / (vector["tflops"] * 1e12 * share)
    return float(time)


def _share(table: Sequence[Sequence[float]], size: float) -> float:
    return next(share for least, share in table if size >= least)
