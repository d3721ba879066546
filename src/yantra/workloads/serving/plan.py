"""How a model that serves requests is spread over its ranks.

Names and defaults are vLLM's where it has them (`names.py`).

Experts have the axes ep and etp. Within one tensor-parallel group (ep x etp = tp) they work on the
tokens there; beyond it (DP attention with expert parallelism: DeepSeek-V3 technical report, 2024,
section 3.4) tokens travel to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.records import Record
from yantra.compute.products import NARROW, RATE_TYPES
from yantra.workloads.operators.adapters import targets_of
from yantra.workloads.operators.graph.formats import FORMATS, WIDTHS
from yantra.workloads.schedules.layout import layers_of
from yantra.workloads.templates.grid import Grid, grid_of

DERIVED: Any = None  # left out: follows from other fields

COMPUTE_DTYPES = ("bf16", "fp16", "fp32", "fp8", "fp8_block", "nvfp4")
STORAGE_DTYPES = (*WIDTHS, *FORMATS)
CACHE_DTYPES = ("bf16", "fp16", "fp32", "fp8", "int8")
_LARGEST = 2**30
_TARGETS = "q_proj,v_proj"


class InferencePlan(Record):
    """Numbers of ranks, types, and how the cache is cut; sizes in ranks and tokens.

    `low_latency` exchanges experts' rows by kernels for few tokens. With `lora_rank` products of
    `lora_targets` have adapters beside them. Raises ConfigError for impossible values.
    """

    tp: int = 1
    sequence_parallel: bool = False
    pp: int = 1
    dp: int = DERIVED
    ep: int = 1
    etp: int = DERIVED
    micro_batches: int = DERIVED
    stage_layers: tuple[int, ...] | None = None
    dtype: Literal["bf16", "fp16", "fp32", "fp8", "fp8_block", "nvfp4"] = "bf16"
    weight_dtype: str = DERIVED
    kv_cache_dtype: str = DERIVED
    low_latency: bool = False
    order: str = "tp-cp-ep-dp-pp"
    block_size: int = 16
    gpu_memory_utilization: float = 0.9
    lora_rank: int | None = None
    lora_targets: str = _TARGETS

    def __post_init__(self) -> None:
        state = self.__dict__
        for name in ("tp", "pp", "dp", "ep", "etp", "micro_batches", "block_size", "lora_rank"):
            if state[name] is not None or name in ("tp", "pp", "ep", "block_size"):
                _check_size(name, state[name])
        for name in ("sequence_parallel", "low_latency"):
            if not isinstance(state[name], bool):
                raise ConfigError(name, expected_got("true or false", state[name]))
        share = state["gpu_memory_utilization"]
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            expected = "a number above 0 and at most 1"
            raise ConfigError("gpu_memory_utilization", expected_got(expected, share))
        if state["stage_layers"] is not None:
            state["stage_layers"] = layers_of(state["stage_layers"])
        self._derive(state)
        self._check_types(state)
        self._check_experts(state)
        if not isinstance(self.order, str):
            raise ConfigError("order", expected_got("axes such as tp-cp-ep-dp-pp", self.order))
        targets = targets_of(self.lora_targets)
        if self.lora_rank is None and targets != targets_of(_TARGETS):
            raise ConfigError(
                "lora_targets", "adapts nothing without lora_rank; give one, such as 16"
            )
        self.grid()

    @classmethod
    def of(cls, given: Mapping[str, Any] | None = None, **named: Any) -> InferencePlan:
        """Raises ConfigError with the names given."""
        from yantra.workloads.serving.names import inference_plan

        return inference_plan({**(given or {}), **named})

    def _derive(self, state: dict[str, Any]) -> None:
        if self.etp is None:
            state["etp"] = max(self.tp // self.ep, 1)
        if self.dp is None:
            state["dp"] = max(self.ep * self.etp // self.tp, 1)
        if self.micro_batches is None:
            state["micro_batches"] = self.pp
        if self.weight_dtype is None:
            state["weight_dtype"] = self.dtype
        if self.kv_cache_dtype is None:
            is_narrow = RATE_TYPES.get(self.dtype, self.dtype) in NARROW
            state["kv_cache_dtype"] = "bf16" if is_narrow else self.dtype

    def _check_types(self, state: dict[str, Any]) -> None:
        for name, choices in (
            ("dtype", COMPUTE_DTYPES),
            ("weight_dtype", STORAGE_DTYPES),
            ("kv_cache_dtype", CACHE_DTYPES),
        ):
            if state[name] not in choices:
                one = expected_got(f"one of {', '.join(choices)}", state[name])
                raise ConfigError(name, one + did_you_mean(str(state[name]), choices))

    def _check_experts(self, state: dict[str, Any]) -> None:
        experts, ranks = self.ep * self.etp, self.tp * self.dp
        product = f"ep x etp = {self.ep} x {self.etp}"
        if experts % self.tp and not self.sequence_parallel:
            problem = f"{product} = {experts} is no multiple of tp = {self.tp}"
            raise ConfigError("ep", f"{problem}; nearest: {_nearest(experts, self.tp)}")
        if ranks % experts:
            problem = f"{product} = {experts} does not divide tp x dp = {ranks}"
            raise ConfigError("ep", f"{problem}; nearest: {_divisor(ranks, experts)}")
        if self.low_latency and self.ep == 1:
            raise ConfigError("low_latency", "nothing is exchanged with ep = 1; give ep")

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self.tp * self.pp * self.dp

    @property
    def exchanges(self) -> bool:
        """Whether a rank's tokens go to other ranks' experts."""
        return self.ep * self.etp > self.tp or (self.sequence_parallel and self.ep > 1)

    @property
    def token_multiple(self) -> int:
        """A batch's tokens are filled up to a multiple of this: tp where it shares them."""
        return self.tp if self.sequence_parallel or self.exchanges else 1

    def grid(self, name: str = "infer", first_rank: int = 0) -> Grid:
        """The grid of the ranks."""
        return grid_of(
            tp=self.tp, pp=self.pp, dp=self.dp, ep=self.ep, etp=self.etp, order=self.order,
            name=name, first_rank=first_rank,
        )  # fmt: skip


def _check_size(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _LARGEST:
        raise ConfigError(name, expected_got("a whole number of at least 1", value))


def _nearest(value: int, step: int) -> int:
    return max(round(value / step), 1) * step


def _divisor(whole: int, value: int) -> int:
    divisors = [n for n in range(1, whole + 1) if whole % n == 0]
    return min(divisors, key=lambda n: (abs(n - value), n))
