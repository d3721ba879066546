"""How a training job is spread over its ranks.

Rules that need the model are in `plan/check.py`. Names and meanings are Megatron-LM's where it has
them (`names.py`). Trade-off: left-out fields of `_DERIVED` get their value once, when the plan is
made; it remembers which, and `replace` derives them again.

Sources: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
Megatron-LM", SC 2021; Liu et al., "MoE Parallel Folding", arXiv 2504.14960 (experts' own axes);
Rajbhandari et al., "ZeRO", SC 2020; Zhao et al., "PyTorch FSDP", VLDB 2023 (HSDP).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, Self, get_args

from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.base.records import Record
from yantra.workloads.operators.adapters import targets_of
from yantra.workloads.operators.cuda_graphs import scopes_of
from yantra.workloads.operators.fusions import unfused_of
from yantra.workloads.operators.graph.modules import modules_of
from yantra.workloads.operators.names import NONE
from yantra.workloads.operators.offloaded import offloaded_of
from yantra.workloads.operators.scalings import Scaling
from yantra.workloads.plan.precision import (
    NARROW_WEIGHTS,
    SCALINGS,
    TRANSPOSED,
    MasterDtype,
    StateDtype,
)
from yantra.workloads.schedules.layout import layers_of
from yantra.workloads.templates.grid import Grid, grid_of

CpKind = Literal["p2p", "all_gather", "a2a"]
Recompute = Literal["none", "selective", "operators", "full"]
RecomputeMethod = Literal["uniform", "block"]
GradientDtype = Literal["fp32", "bf16", "fp16"]
Dtype = Literal["fp32", "bf16", "fp16", "fp8", "fp8_block", "fp4"]
Messages = Literal["whole", "sliced", "scattered"]
OverlapExperts = Literal["none", "1f1b"]
Dispatch = Literal["once", "each"]
Axis = Literal["tp", "cp", "ep", "dp", "pp"]

AXES: tuple[Axis, ...] = ("tp", "cp", "ep", "dp", "pp")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "cp_kind": ("p2p", "all_gather", "a2a"),
    "messages": get_args(Messages),
    "overlap_experts": get_args(OverlapExperts),
    "dispatch": get_args(Dispatch),
    "recompute": ("none", "selective", "operators", "full"),
    "recompute_method": get_args(RecomputeMethod),
    "dtype": get_args(Dtype),
    "gradient_dtype": ("fp32", "bf16", "fp16"),
    "optimizer": ("adam", "sgd"),
    "scaling": get_args(Scaling),
    "master_dtype": get_args(MasterDtype),
    "exp_avg_dtype": get_args(StateDtype),
    "exp_avg_sq_dtype": get_args(StateDtype),
}
SIZES = ("tp", "cp", "pp", "vpp", "ep", "etp", "dp", "micro_batch", "prefetch", "steps")
OPTIONAL_SIZES = (
    "shard",
    "global_batch",
    "bucket_elements",
    "lora_rank",
    "recompute_layers",
    "first_stage_layers",
    "last_stage_layers",
)
SWITCHES = (
    "sequence_parallel",
    "reshard_after_forward",
    "overlap_gradients",
    "overlap_parameters",
    "overlap_p2p",
    "overlap_tensor",
    "overlap_products",
    "gather_again",
    "narrow_weights",
    "transposed_weights",
    "reuse_gradients",
    "offload_optimizer",
    "offload_activations",
    "flash_attention",
    "dropout",
    "fused_loss",
    "embedding_as_layer",
    "loss_as_layer",
)
SHARES = ("exposed_experts", "exposed_gradients", "offload_fraction")
DERIVED: Any = None  # left out: derived once from other fields
_DERIVED = (
    "sequence_parallel",
    "global_batch",
    "schedule",
    "scaling",
    "narrow_weights",
    "transposed_weights",
    "offload_activations",
)
_MEGATRON_BUCKET = 40_000_000
_MEGATRON_BUCKET_PER_RANK = 1_000_000
LARGEST = 2**40


class Plan(Record):
    """A way to spread one training step; docs/reference/plans.md has every field.

    Sizes are in ranks, sequences (`micro_batch`, `global_batch`), elements (`bucket_elements`) and
    layers (`prefetch`). Raises ConfigError for impossible values; `check` says whether they go
    together.
    """

    __slots__ = ("_left_out", "_spelling")

    tp: int = 1
    sequence_parallel: bool = DERIVED
    cp: int = 1
    cp_kind: CpKind = "p2p"
    pp: int = 1
    vpp: int = 1
    ep: int = 1
    etp: int = 1
    dp: int = 1
    zero: Literal[0, 1, 2, 3] = 0
    shard: int | None = None
    reshard_after_forward: bool = True
    prefetch: int = 1
    micro_batch: int = 1
    global_batch: int = DERIVED
    steps: int = 1
    schedule: str = DERIVED
    recompute: Recompute = "none"
    recompute_modules: str = "core_attn"
    recompute_layers: int | None = None
    recompute_method: RecomputeMethod = "uniform"
    dtype: Dtype = "bf16"
    gradient_dtype: GradientDtype = "fp32"
    scaling: Scaling = DERIVED
    narrow_weights: bool = DERIVED
    transposed_weights: bool = DERIVED
    reuse_gradients: bool = True
    optimizer: Literal["adam", "sgd"] = "adam"
    master_dtype: MasterDtype = "fp32"
    exp_avg_dtype: StateDtype = "fp32"
    exp_avg_sq_dtype: StateDtype = "fp32"
    order: str = "-".join(AXES)
    overlap_gradients: bool = True
    exposed_gradients: float = 0.0
    overlap_parameters: bool = True
    overlap_p2p: bool = True
    overlap_tensor: bool = True
    overlap_products: bool = False
    overlap_experts: OverlapExperts = "none"
    exposed_experts: float = 0.0
    dispatch: Dispatch = "once"
    gather_again: bool = True
    messages: Messages = "whole"
    bucket_elements: int | None = None
    offload_optimizer: bool = False
    offload_fraction: float = 1.0
    offload_activations: bool = DERIVED
    offload_modules: str = NONE
    offload_layers: int | None = None
    flash_attention: bool = True
    cuda_graphs: str = "none"
    unfused_kernels: str = "none"
    dropout: bool = False
    fused_loss: bool = True
    embedding_as_layer: bool = False
    loss_as_layer: bool = False
    stage_layers: tuple[int, ...] | None = None
    first_stage_layers: int | None = None
    last_stage_layers: int | None = None
    lora_rank: int | None = None
    lora_targets: str = "q_proj,v_proj"
    routing: str = "uniform"
    capacity_factor: float | None = None

    def __post_init__(self) -> None:
        state = self.__dict__
        object.__setattr__(self, "_left_out", tuple(n for n in _DERIVED if state[n] is None))
        object.__setattr__(self, "_spelling", {})
        _check_values(state)
        if state["stage_layers"] is not None:
            state["stage_layers"] = layers_of(state["stage_layers"])
        state["cuda_graphs"] = ",".join(scopes_of(state["cuda_graphs"])) or "none"
        state["unfused_kernels"] = ",".join(unfused_of(state["unfused_kernels"])) or "none"
        state["recompute_modules"] = ",".join(modules_of(state["recompute_modules"]))
        if state["sequence_parallel"] is None:
            state["sequence_parallel"] = self.tp > 1
        if state["global_batch"] is None:
            state["global_batch"] = self.micro_batch * self.dp
        if state["schedule"] is None:
            state["schedule"] = "interleaved" if self.vpp > 1 else "1f1b"
        state["offload_modules"] = ",".join(offloaded_of(state["offload_modules"])) or NONE
        if state["offload_activations"] is None:
            by_modules = state["offload_modules"] != NONE
            state["offload_activations"] = self.offload_layers is not None and not by_modules
        if state["scaling"] is None:
            state["scaling"] = SCALINGS.get(self.dtype, ("none",))[0]
        if state["narrow_weights"] is None:
            state["narrow_weights"] = state["scaling"] in NARROW_WEIGHTS
        if state["transposed_weights"] is None:
            state["transposed_weights"] = state["scaling"] in TRANSPOSED

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, **named: Any) -> Self:
        """Make a plan from names of Megatron, DeepSpeed, vLLM or our own, as flags or keywords.

        Errors then use the names given. Raises ConfigError.
        """
        from yantra.workloads.plan.names import plan_fields

        return plan_fields({**(given or {}), **named}, cls)

    def replace(self, **changes: Any) -> Self:
        """Copy with some fields changed; those left out are derived again."""
        plan = type(self)(**(self.given | changes))
        return plan.spelled(self.spelling)

    def spelled(self, spelling: Mapping[str, str]) -> Self:
        """Note how the user called the fields, for errors."""
        object.__setattr__(self, "_spelling", dict(spelling))
        return self

    @property
    def spelling(self) -> Mapping[str, str]:
        """How the user called the fields; an absent field has its own name."""
        names: Mapping[str, str] = getattr(self, "_spelling")  # noqa: B009 (a slot mypy cannot see)
        return names

    @property
    def derived(self) -> tuple[str, ...]:
        """The fields that were left out and derived."""
        left_out: tuple[str, ...] = getattr(self, "_left_out")  # noqa: B009
        return left_out

    @property
    def given(self) -> dict[str, Any]:
        """The fields as given: None where a value was derived."""
        return self.__dict__ | dict.fromkeys(self.derived)

    def grid(self) -> Grid:
        """The grid of the ranks. Raises ConfigError for an order that has none."""
        return grid_of(
            tp=self.tp, cp=self.cp, dp=self.dp, pp=self.pp, ep=self.ep, etp=self.etp,
            order=self.order, shard=self.shard,
        )  # fmt: skip

    @property
    def micro_batches(self) -> int:
        """Micro-batches of one step: global batch / (micro-batch x dp)."""
        return self.global_batch // (self.micro_batch * self.dp)

    @property
    def ranks(self) -> int:
        """Number of ranks; ep and etp fold into the others."""
        return self.tp * self.cp * self.dp * self.pp

    @property
    def edp(self) -> int:
        """Ranks with the same part of the same experts: dp x cp x tp / (ep x etp)."""
        return self.dp * self.cp * self.tp // (self.ep * self.etp)

    @property
    def replicas(self) -> int:
        """Copies of the sharded state over dp x cp: 1, or more with `shard` (HSDP)."""
        return self.dp * self.cp // (self.shard or self.dp * self.cp)

    @property
    def bucket_size(self) -> int:
        """Elements of gradients reduced together: as given, or Megatron-LM's default.

        That is max(40e6, 1e6 x dp x cp), which grows with the ranks so that latency does not
        dominate.
        """
        default = max(_MEGATRON_BUCKET, _MEGATRON_BUCKET_PER_RANK * self.dp * self.cp)
        return self.bucket_elements or default

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self.given), ()


def _check_values(state: Mapping[str, Any]) -> None:
    for name in SIZES:
        _check_size(name, state[name])
    for name in OPTIONAL_SIZES:
        if state[name] is not None:
            _check_size(name, state[name])
    for name in SWITCHES:
        if not isinstance(state[name], bool) and not (name in _DERIVED and state[name] is None):
            raise ConfigError(name, expected_got("true or false", state[name]))
    for name, choices in CHOICES.items():
        if state[name] not in choices and not (name in _DERIVED and state[name] is None):
            hint = did_you_mean(str(state[name]), choices)
            one = f"one of {', '.join(choices)}"
            raise ConfigError(name, expected_got(one, state[name]) + hint)
    if state["zero"] not in (0, 1, 2, 3) or isinstance(state["zero"], bool):
        raise ConfigError("zero", expected_got("0, 1, 2 or 3", state["zero"]))
    schedule = state["schedule"]
    if schedule is not None and not (isinstance(schedule, str) and schedule):
        raise ConfigError("schedule", expected_got("a name or a file", schedule))
    _check_order(state["order"])
    targets_of(state["lora_targets"])
    skew_of(state["routing"])
    for name in SHARES:
        if not (_is_number(state[name]) and 0 <= state[name] <= 1):
            raise ConfigError(name, expected_got("a share of 0 to 1", state[name]))
    factor = state["capacity_factor"]
    if factor is not None and not (_is_number(factor) and 0 < factor < LARGEST):
        raise ConfigError("capacity_factor", expected_got("a number above 0", factor))


def skew_of(routing: object) -> float:
    """Alpha of the routing `zipf:<alpha>`, 0 of `uniform`; anything else is an error."""
    if routing == "uniform":
        return 0.0
    kind, _, number = routing.partition(":") if isinstance(routing, str) else ("", "", "")
    try:
        alpha = float(number)
    except ValueError:
        alpha = -1.0
    if kind != "zipf" or not 0 <= alpha <= 100:
        expected = '"uniform", or "zipf:<alpha>" such as "zipf:1.2"'
        raise ConfigError("routing", expected_got(expected, routing))
    return alpha


def _check_size(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST:
        raise ConfigError(name, expected_got("a whole number of at least 1", value))


def _check_order(order: object) -> None:
    axes = order.split("-") if isinstance(order, str) else []
    if not set(axes) <= set(AXES) or len(set(axes)) < len(axes) or not axes:
        every = f"each of {', '.join(AXES)} once, fastest first, such as {'-'.join(AXES)}"
        raise ConfigError("order", f"expected {every}; got {show(order)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
