"""Which measured kernels a framework that serves models runs.

Experts' tables name kernels: vLLM's is the Triton one, as SGLang's began. Its default for
`fp8_block` takes rows in blocks of 64, however few an expert has.

Source: vLLM, `model_executor/layers/fused_moe/fused_moe.py`: `get_default_config` (BLOCK_SIZE_M)
and `moe_align_block_size`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean


class Framework(NamedTuple):
    """Parts of the names of its experts' kernels, and the least rows of an expert by table."""

    experts: tuple[str, ...]
    least_rows: Mapping[str, int] = {}


TILE = 16
"""The least rows of an expert that any kernel takes."""

FRAMEWORKS: Mapping[str, Framework] = {
    "vllm": Framework(("fused_moe_triton",), {"fp8_block": 64}),
    "sglang": Framework(("sglang_",)),
    "trtllm": Framework(("moe_torch_flow", "deepgemm")),
}


def framework_named(name: str | None, where: str) -> str:
    """A known framework, empty for none. Raises ConfigError at `where` for others."""
    if name is not None and name not in FRAMEWORKS:
        problem = f"no kernels of {name}; expected one of {', '.join(FRAMEWORKS)}"
        raise ConfigError(where, problem + did_you_mean(name, FRAMEWORKS))
    return name or ""


def runs(framework: str, kernel: str) -> bool:
    """Whether a framework runs an experts' kernel."""
    return any(part in kernel for part in FRAMEWORKS[framework].experts)


def least_rows(framework: str, table: str) -> int:
    return FRAMEWORKS[framework].least_rows.get(table, 1)


def tile_rows(framework: str | None, table: str) -> int:
    """Rows of which an expert's kernel always works off a multiple."""
    return max(TILE, least_rows(framework, table)) if framework else TILE
