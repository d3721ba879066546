"""A text workload as data: policy, parameters of its first line, layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

POLICIES: Mapping[str, str] = {
    "MICRO": "all weight-gradient communication at once, no computation",
    "DATA": "data parallel",
    "MODEL": "model parallel",
    "HYBRID_DATA_MODEL": "model parallel in dimension 0, data parallel in the others",
    "HYBRID_MODEL_DATA": "data parallel in dimension 0, model parallel in the others",
    "HYBRID_DLRM": "embedding exchanged all-to-all, MLPs data parallel",
    "HYBRID_DLRM_ENHANCED": "the same; no pass waits for the embedding's gradients",
    "HYBRID_TRANSFORMER": "model parallel in groups, data parallel between them",
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD": "the same, with activations recomputed from checkpoints",
    "HYBRID_CUSTOMIZED": "a policy for each layer, in column 13",
    "DISTRIBUTED_INFERENCE": "forward passes of a model split over all ranks",
}
DLRM = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED")
TRANSFORMERS = ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
LAYER_POLICIES = (
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "MICRO",
    *DLRM,
    "DISTRIBUTED_INFERENCE",
)
NO_COMMUNICATION = "NONE"
COLLECTIVES: Mapping[str, tuple[str, ...]] = {
    "ALLREDUCE": ("ALLREDUCE",),
    "ALLTOALL": ("ALLTOALL",),
    "ALLGATHER": ("ALLGATHER",),
    "REDUCESCATTER": ("REDUCESCATTER",),
    "ALLREDUCEALLTOALL": ("ALLREDUCE", "ALLTOALL"),
    NO_COMMUNICATION: (),
}


class Phase(NamedTuple):
    """A layer's phase: computing time, then communication, bytes per rank."""

    time: int
    communication: str
    size: int

    @property
    def collectives(self) -> tuple[str, ...]:
        """The collectives it issues, all at once; none for NONE and for no bytes."""
        return COLLECTIVES[self.communication] if self.size else ()


class Layer(NamedTuple):
    """One line; `update` is the delay after each communication, `policy` is column 13."""

    name: str
    forward: Phase
    input_gradient: Phase
    weight_gradient: Phase
    update: int
    policy: str | None


class Workload(NamedTuple):
    """A whole file. Layers are numbered from 0; absent parameters are empty."""

    where: str
    text: str
    policy: str
    layers: tuple[Layer, ...]
    last_bottom_layer: int | None = None
    model_parallel_ranks: int | None = None
    checkpoints: tuple[int, ...] = ()
    initiators: tuple[int, ...] = ()

    def policy_of(self, layer: Layer) -> str:
        return layer.policy or self.policy
