"""Measured kernels as lines of text, and as columns.

    op,phase,dtype,shape,us
    gemm,forward,bf16,m=4096 n=10240 k=8192,473.4
    gemm,wgrad,bf16,m=10240 n=8192 k=4096 accumulated=335544320,510.8
    grouped_gemm,forward,bf16,m=1228 n=3072 k=5120 batch=20 inner=1536 experts=160 top_k=6,637.0
    attention,forward,bf16,queries=4096 keys=4096 heads=64 kv_heads=8 head_dim=128,280.4
    norm,forward,bf16,m=4096 bytes=134217728,31.0
    launch,,,,2.4
    host_copy,,,bytes=268435456,4900

`op` is an operator class, `phase` that of training, `shape` a trace's sizes
(`yantra.compute.model.Kernels`), `us` microseconds of one kernel behind others of a stream.
Attention is causal unless `causal=0`. A `launch` is an empty kernel: none takes less. A `host_copy`
moves bytes between the device and the host's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.compute.model import SIZES, Kernels, kernels

HEAD = ("op", "phase", "dtype", "shape", "us")
LAUNCH = "launch"
HOST_COPY = "host_copy"
PHASES = ("", "forward", "dgrad", "wgrad", "recompute", "optimizer")
DTYPES = ("", "bf16", "fp16", "fp32", "tf32", "fp64", "fp8", "fp8_block", "fp4", "nvfp4", "int8")
_SHAPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "gemm": (("m", "n", "k"), ("batch", "accumulated")),
    "grouped_gemm": (
        ("m", "n", "k", "batch", "inner", "experts", "top_k"),
        ("accumulated", "skew"),
    ),
    "attention": (
        ("queries", "keys", "heads", "head_dim"),
        ("batch", "kv_heads", "value_dim", "window", "cache_bits", "causal"),
    ),
    LAUNCH: ((), ()),
    HOST_COPY: (("bytes",), ()),
}
"""Sizes that a kernel of a class must state, and those that it may."""
_OTHER = (("bytes",), ("m",))
OTHERS = (
    "norm",
    "softmax",
    "loss",
    "elementwise",
    "residual",
    "rope",
    "copy",
    "permute",
    "optimizer",
)
"""Classes that memory bounds; they state the bytes that they move."""

_WORD = 2
_BACKWARD = 2.5  # operations of attention's fused gradient over its forward's
_MOST = 2**53
_LONGEST_US = 1e12


class Rows(NamedTuple):
    kernels: Kernels
    us: NDArray[np.float64]
    launch_us: float
    host_bytes_per_s: float
    notes: tuple[str, ...]


class _Line(NamedTuple):
    op: str
    phase: str
    dtype: str
    sizes: dict[str, int]
    us: float


@cache
def read(text: str, path: str) -> Rows:
    """Raises ConfigError with `path` and the line."""
    lines = list(_lines(text, path))
    alone = [one.us for one in lines if one.op == LAUNCH]
    copies = [one.sizes["bytes"] / one.us * 1e6 for one in lines if one.op == HOST_COPY]
    some = [one for one in lines if one.op not in (LAUNCH, HOST_COPY)]
    if not some:
        raise ConfigError(path, f"expected at least one measured kernel below {','.join(HEAD)}")
    amounts = [_amounts(one) for one in some]
    columns = {name: [one.sizes.get(name, 0) for one in some] for name in SIZES}
    made = kernels(
        [flops for flops, _ in amounts],
        [moved for _, moved in amounts],
        [one.op for one in some],
        [one.dtype for one in some],
        [one.phase for one in some],
        **columns,
    )
    notes = tuple(one[1:].strip() for one in text.split("\n") if one.startswith("#"))
    us = np.array([one.us for one in some])
    return Rows(made, us, min(alone, default=0.0), max(copies, default=0.0), notes)


def _lines(text: str, path: str) -> Iterator[_Line]:
    mark = ": kernel line " if path.endswith(".yaml") else ":"
    has_head = False
    for at, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{path}{mark}{at}"
        if has_head:
            yield _line(line, where)
        elif tuple(one.strip() for one in line.split(",")) != HEAD:
            raise ConfigError(where, expected_got(f"the columns {','.join(HEAD)}", line))
        has_head = True


def _line(line: str, where: str) -> _Line:
    parts = [one.strip() for one in line.split(",")]
    if len(parts) != len(HEAD):
        raise ConfigError(where, expected_got(f"{len(HEAD)} columns", f"{len(parts)}: {line}"))
    op, phase, dtype, shape, us = parts
    known = (*_SHAPES, *OTHERS)
    for name, value, expected in (
        ("op", op, known),
        ("phase", phase, PHASES),
        ("dtype", dtype, DTYPES),
    ):
        if value not in expected:
            problem = expected_got(f"one of {', '.join(filter(None, expected))}", value)
            raise ConfigError(where, f"{name}: {problem}{did_you_mean(value, expected)}")
    return _Line(op, phase, dtype, _sizes(op, shape, where), _microseconds(us, where))


def _sizes(op: str, shape: str, where: str) -> dict[str, int]:
    required, optional = _SHAPES.get(op, _OTHER)
    known = (*required, *optional)
    found: dict[str, int] = {}
    for part in shape.split():
        name, equals, value = part.partition("=")
        if name not in known or not equals:
            problem = expected_got(f"sizes such as {' '.join(f'{one}=1' for one in known)}", part)
            raise ConfigError(where, f"shape: {problem}{did_you_mean(name, known)}")
        if not value.isdecimal() or not value.isascii() or len(value) > 16 or int(value) >= _MOST:
            raise ConfigError(where, f"shape: {name}: {expected_got('a whole number', value)}")
        found[name] = int(value)
    for name in required:
        if not found.get(name):
            raise ConfigError(where, f"shape: {name}: missing; expected a number above 0")
    return found


def _microseconds(text: str, where: str) -> float:
    try:
        us = float(text)
    except ValueError:
        us = 0.0
    if not 0 < us < _LONGEST_US:
        raise ConfigError(where, f"us: {expected_got('microseconds above 0', text)}")
    return us


def _amounts(line: _Line) -> tuple[int, int]:
    of: Mapping[str, Any] = line.sizes
    batch = of.get("batch") or 1
    if "bytes" in of:
        return 0, of["bytes"]
    if line.op != "attention":
        m, n, k = of["m"], of["n"], of["k"]
        words = batch * (m * k + k * n + m * n)
        return _fits(2 * batch * m * n * k), _fits(_WORD * words)
    q, seen, heads = of["queries"], of["keys"], of["heads"]
    kv, width = of.get("kv_heads") or heads, of["head_dim"]
    value = of.get("value_dim") or width
    pairs = batch * heads * q * seen
    if of.get("causal", 1) and q > 1:
        pairs //= 2
    passes = _BACKWARD if line.phase == "dgrad" else 1.0
    words = batch * (q * heads * (width + value) + seen * kv * (width + value))
    return _fits(int(passes * 2 * pairs * (width + value))), _fits(_WORD * words)


def _fits(amount: int) -> int:
    return min(amount, 2**62)
