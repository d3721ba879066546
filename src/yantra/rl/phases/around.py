"""What a step takes beside generation, scoring and training: refit, switch, the controller.

A refit of the kind `whole` brings the whole model to every device, over the slowest link that a
device has for itself, and takes no less than the host's time of each tensor; a switch is bytes over
the link to the host at the rate of the memory they go through. Trade-off: devices of a node do not
share its host.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.workloads.models.experts import experts_of
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yantra.fabric.clusters.types import Cluster
    from yantra.rl.frameworks import Framework, Move

_STATE = 12.0  # bytes of Adam: two moments and a master copy in 32 bits
_TRAINED = 2.0  # bytes of a weight in bf16
_BYTES = {"fp32": 4.0, "fp8": 1.0, "fp8_block": 1.0, "mxfp8": 1 + 1 / 32, "nvfp4": 0.5625}
NARROW = ("fp8", "fp8_block", "mxfp8", "nvfp4")
"""Types of generation that weights are converted to."""
_LOGITS = "logits.weight"
_PARTS = {"up": 2, "gate_up": 2, "qkv": 3}  # tensors of a checkpoint that are one here


class Sizes(NamedTuple):
    """Of a model: parameters that all share, those of experts, and tensors of a checkpoint."""

    dense: int
    experts: int
    tensors: int
    vocabulary: int
    """Logits of a token; 0 for a model without."""

    @property
    def parameters(self) -> int:
        """All of them."""
        return self.dense + self.experts


class Held(NamedTuple):
    """Bytes of a device: weights and optimizer state that it trains, weights it generates with."""

    weights: float
    optimizer: float
    engine: float

    def with_models(self, trained: int, scoring: int) -> Held:
        """Those of so many trained models, and of so many that score alone."""
        weights = self.weights * (trained + scoring)
        return Held(weights, self.optimizer * trained, self.engine)


@lru_cache(maxsize=8)
def sizes_of(model: Any) -> Sizes:
    """Count a model's parameters and tensors."""
    one = Batch((Sequences(1, 1),), all_logits=False, padding=0)
    stages = Stages(model, InferencePlan(), "")
    weights = stages.weights(0, one)
    experts = sum(weight.elements for weight in weights if weight.domain == "expert")
    many = experts_of(model) or 1
    tensors = sum(
        _PARTS.get(weight.name.split(".")[-2], 1) * (many if weight.domain == "expert" else 1)
        for weight in weights
    )
    logits = sum(weight.elements for weight in weights if weight.name.endswith(_LOGITS))
    dense = sum(weight.elements for weight in weights) - experts
    return Sizes(dense, experts, tensors, logits // model.hidden)


def held_by(sizes: Sizes, train: Mapping[str, Any], gpus: int, engine_bytes: float) -> Held:
    """Return what a device holds: weights cut by tp, pp and ep, the optimizer by all."""
    tp, pp = train.get("tp", 1), train.get("pp", 1)
    experts = train.get("ep", 1) * train.get("etp", 1)
    weights = sizes.dense / (tp * pp) + sizes.experts / (experts * pp)
    return Held(_TRAINED * weights, _STATE * sizes.parameters / gpus, engine_bytes)


def moves_s(moves: Sequence[Move], held: Held, framework: Framework, cluster: Cluster) -> float:
    """Time of copies one after the other."""
    link = cluster.host_bandwidth.value
    rates = {"pinned": link}
    rates |= {name: min(getattr(framework, name).value, link) for name in ("pageable", "fresh")}
    return sum(float(getattr(held, move.what)) / rates[move.how] for move in moves)


def whole_refit_s(
    sizes: Sizes, framework: Framework, cluster: Cluster, gpus: int, dtype: str
) -> float:
    """Every device receives the whole model; a tensor is made while another moves."""
    size = sizes.parameters * _BYTES.get(dtype, 2.0)
    return max(size / slowest_link(cluster, gpus), sizes.tensors * framework.tensor.value / 1e9)


def checkpoint_s(sizes: Sizes, trained: int, storage: float) -> float:
    """Weights and optimizer state of so many models, at the rate of the storage."""
    return (_TRAINED + _STATE) * sizes.parameters * trained / storage


def converted_s(parameters: float, dtype: str, cluster: Cluster) -> float:
    """A device reads so many weights as they are trained, and writes them in another type."""
    if dtype not in NARROW:
        return 0.0
    return parameters * (_TRAINED + _BYTES[dtype]) / cluster.memory_bandwidth.value


def slowest_link(cluster: Cluster, gpus: int) -> float:
    """Bytes a second of a device at the outermost level that so many devices use."""
    members = 1.0
    for level in cluster.network:
        members *= level.members.value if level.members else gpus
        if members >= gpus:
            break
    return float(level.device_bytes_per_s())
