"""Names of operators and kernels that communicate without NCCL, RCCL or gloo.

Patterns (`*`: any text) match whole names, case-sensitively, a user's file first. Unlisted kernels
that look like communication are reported.

Source: names registered by PyTorch (torch/csrc/distributed/c10d/symm_mem), vLLM, SGLang,
TensorRT-LLM, FlashInfer, AITER, DeepEP, MSCCL++ and NVSHMEM; PyTorch's and DeepEP's also from
public traces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.chakra.schema import CollectiveType

UNSIZED = "communication"
"""Communicates, but not as one collective of known size."""

_NONE = "none"  # looks like communication, but is none

_SIDES = ("operators", "kernels")
_KINDS = {kind.name.lower(): kind for kind in CollectiveType}

# The first that fits counts. Fused, quantised or uneven ones move other bytes than their tensor.
_OPERATORS = {
    "symm_mem::*all_reduce_copy*": UNSIZED,  # first tensor: the buffer, not the message
    "symm_mem::fused_*": UNSIZED,
    "symm_mem::*all_to_all*": UNSIZED,
    "symm_mem::*all_reduce*": "all_reduce",
    "symm_mem::*all_gather*": "all_gather",
    "symm_mem::*reduce_scatter*": "reduce_scatter",
    "*::qr_all_reduce": UNSIZED,
    "*::*fused_allreduce*": UNSIZED,
    "*::*allreduce_fusion*": UNSIZED,
    "vllm::all_reduce": "all_reduce",
    "vllm::all_gather": "all_gather",
    "vllm::reduce_scatter": "reduce_scatter",
    "_C_custom_ar::all_reduce": "all_reduce",
    "sgl_kernel::*all_reduce": "all_reduce",
    "sglang::*all_reduce": "all_reduce",
    "vllm::*place_all_reduce": "all_reduce",
    "aiter::*all_reduce*": "all_reduce",
    "trtllm::allreduce": UNSIZED,  # an argument says what is fused
    "deep_ep::*dispatch*": "all_to_all",
    "deep_ep::*combine*": "all_to_all",
}
_KERNELS = {
    "*allreduce_fusion*": UNSIZED,
    "*AllReduceNorm*": UNSIZED,
    "*quickreduce::*": UNSIZED,
    "*allreduce_prototype_*": UNSIZED,  # quick_reduce
    "*one_shot_all_reduce*copy*kernel*": UNSIZED,
    "*_all_reduce_kernel*": "all_reduce",
    "*cross_device_reduce_*": "all_reduce",
    "*ShotAllReduceKernel*": "all_reduce",
    "*multimem_all_gather_kernel*": "all_gather",
    "*::ep::*dispatch_layout*": _NONE,  # local: works out what goes where
    "*deep_ep::*dispatch_layout*": _NONE,
    "*::ep::*notify*": UNSIZED,
    "*deep_ep::*notify*": UNSIZED,
    "*::ep::*::dispatch*": "all_to_all",
    "*::ep::*::combine*": "all_to_all",
    "*deep_ep::*::dispatch*": "all_to_all",
    "*deep_ep::*::combine*": "all_to_all",
    "*nvshmem*": UNSIZED,
    "*rocshmem*": UNSIZED,
}

_LOOKS_SO = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all|nvshmem|rocshmem"
    r"|multimem|cross_device|quick_?reduce|deep_?ep\b|::ep::|symm_mem|put_signal|wait_signal",
    re.IGNORECASE,
)


class CommunicationNames:
    """Which operators and kernels communicate; `own` is the user's."""

    def __init__(self, own: Mapping[str, Mapping[str, str]] | None = None) -> None:
        given = own or {}
        operators = _compiled(given.get("operators", {}), _OPERATORS)
        kernels = _compiled(given.get("kernels", {}), _KERNELS)
        self._of_operator = lru_cache(4096)(lambda name: _told(operators, name))
        self._of_kernel = lru_cache(4096)(
            lambda name: _told(kernels, name) or (UNSIZED if _LOOKS_SO.search(name) else None)
        )

    def of_operator(self, name: str) -> str | None:
        return _known(self._of_operator(name))

    def of_kernel(self, name: str) -> str | None:
        return _known(self._of_kernel(name))


def _known(told: str | None) -> str | None:
    return None if told == _NONE else told


def collective_kind(told: str) -> CollectiveType | None:
    return _KINDS.get(told)


def read_names(path: str) -> CommunicationNames:
    """Read a user's table: `operators` and `kernels`, patterns to collectives.

    Raises ConfigError with the field.
    """
    tree = parse_yaml(read_text(path), path)
    if not isinstance(tree, dict):
        raise ConfigError(path, f"expected a mapping with {' and '.join(_SIDES)}, got {show(tree)}")
    for side, table in tree.items():
        if side not in _SIDES:
            hint = did_you_mean(side, _SIDES) or f"; expected {' or '.join(_SIDES)}"
            raise ConfigError(f"{path}: {side}", f"unknown field{hint}")
        if not isinstance(table, dict):
            problem = f"expected patterns of names with a collective each, got {show(table)}"
            raise ConfigError(f"{path}: {side}", problem)
        for pattern, told in table.items():
            _check(f"{path}: {side}.{pattern}", told)
    return CommunicationNames(tree)


def _check(where: str, told: Any) -> None:
    known = (*_KINDS, UNSIZED, _NONE)
    if told not in known:
        hint = did_you_mean(told, known) if isinstance(told, str) else ""
        raise ConfigError(where, f"expected one of {', '.join(known)}; got {show(told)}{hint}")


def _compiled(*tables: Mapping[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(_as_expression(pattern)), told)
        for table in tables
        for pattern, told in table.items()
    ]


def _as_expression(pattern: str) -> str:
    # No fnmatch: names of kernels are full of brackets.
    return ".*".join(map(re.escape, pattern.split("*"))) + r"\Z"


def _told(table: list[tuple[re.Pattern[str], str]], name: str) -> str | None:
    return next((told for pattern, told in table if pattern.match(name)), None)
