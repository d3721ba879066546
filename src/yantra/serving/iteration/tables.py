"""Tables of an iteration's time for a loop that asks millions of times, and how far they are off.

    time = dense(tokens) + decode(sequences, mean context) + sum over chunks of prompt(tokens, past)
           + emit(sequences whose token is chosen) + host

Each is a rising table, linear between its knots. An iteration with a chunk of a prompt also has
`prefill_ns_per_iteration`, one launch of attention that its chunks share. Trade-off: contexts count
by their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from yantra.serving.iteration.grids import curve_of, grid_of, knots_to
from yantra.serving.iteration.walk import PARTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.serving.engines import Host
    from yantra.serving.iteration.closed_form import ClosedForm

TOLERANCE = 0.0025
"""Share of a curve's time by which a line may be off in the middle of two knots."""
_GEMM, _KEYS = 64, 128
_CHECKED = 256
_STEPPED = 1 << 11  # queries or keys up to which a tile more is seen in an iteration
_FEWEST = 2  # tokens of a chunk; a chunk of one is a decode


@dataclass(frozen=True)
class Tables:
    """Times in ns, operations and bytes on one device; arrays of float64, knots of int64.

    `dense_ran` counts operations of rows that only fill a tile, too.

    `error_median`, `error_p99` and `error_most` are what iterations between knots are off the
    closed form, as shares, at `checked` states.
    """

    parts: tuple[str, ...]
    dense_tokens: np.ndarray
    dense_ns: np.ndarray
    dense_parts: np.ndarray
    dense_flops: np.ndarray
    dense_bytes: np.ndarray
    dense_ran: np.ndarray
    decode_n: np.ndarray
    decode_context: np.ndarray
    decode_ns: np.ndarray
    decode_parts: np.ndarray
    decode_flops: np.ndarray
    decode_bytes: np.ndarray
    prefill_tokens: np.ndarray
    prefill_past: np.ndarray
    prefill_ns: np.ndarray
    prefill_parts: np.ndarray
    prefill_flops: np.ndarray
    prefill_bytes: np.ndarray
    prefill_ns_per_iteration: float
    emit_n: np.ndarray
    emit_ns: np.ndarray
    emit_parts: np.ndarray
    emit_flops: np.ndarray
    emit_bytes: np.ndarray
    host_ns_per_iteration: float
    host_ns_per_sequence: float
    host_ns_per_token: float
    checked: int
    error_median: float
    error_p99: float
    error_most: float

    def scaled(self, products: float, attention: float, host: float = 1.0) -> Tables:
        changed = {
            f"{name}_{what}": getattr(self, f"{name}_{what}") * factor
            for names, factor in ((("dense", "emit"), products), (("decode", "prefill"), attention))
            for name in names
            for what in ("ns", "parts")
        }
        changed["prefill_ns_per_iteration"] = self.prefill_ns_per_iteration * attention
        for name in ("iteration", "sequence", "token"):
            changed[f"host_ns_per_{name}"] = getattr(self, f"host_ns_per_{name}") * host
        return replace(self, **changed)


def tables_of(
    form: ClosedForm,
    host: Host,
    max_tokens: int,
    max_sequences: int,
    max_context: int,
    stages: Sequence[int],
) -> Tables:
    """The tables of some stages together."""
    first = stages[0]
    dense = curve_of(
        lambda tokens: form.dense_of(tokens, stages), knots_to(max_tokens, 1, _GEMM), TOLERANCE
    )
    decode = grid_of(
        lambda n, context: form.decode_of(n, context, stages),
        knots_to(max_sequences),
        knots_to(max_context, 1, _KEYS, 1, _STEPPED),
    )
    prompt = grid_of(
        lambda tokens, past: form.prompt_of(tokens, past, stages),
        knots_to(max(max_tokens, _FEWEST), _FEWEST, _KEYS, 0, _STEPPED),
        knots_to(max_context, 0),
    )
    emit = curve_of(lambda n: form.emit_of(n, stages), knots_to(max_sequences, 1, _GEMM), TOLERANCE)
    launch = float(prompt.whole_ns[0, 0])
    behind = prompt.whole_ns - launch
    kept = np.divide(behind, prompt.whole_ns, out=np.zeros_like(behind), where=behind > 0)
    prompt = prompt._replace(whole_ns=behind, ns=prompt.ns * kept)
    made = Tables(
        PARTS,
        dense.knots, dense.whole_ns, dense.ns, dense.flops, dense.bytes, dense.ran,
        decode.first, decode.second, decode.whole_ns, decode.ns, decode.flops, decode.bytes,
        prompt.first, prompt.second, prompt.whole_ns, prompt.ns, prompt.flops, prompt.bytes,
        launch,
        emit.knots, emit.whole_ns, emit.ns, emit.flops, emit.bytes,
        host.ns_per_iteration, host.ns_per_sequence, host.ns_per_token,
        0, 0.0, 0.0, 0.0,
    )  # fmt: skip
    return _with_errors(made, form, first, stages)


def _with_errors(made: Tables, form: ClosedForm, first: int, stages: Sequence[int]) -> Tables:
    tokens = _between(made.dense_tokens, 0)
    decoding = _between(made.decode_n, 1)
    context = _between(made.decode_context, 2)
    past = _between(made.prefill_past, 3)
    chunk = np.maximum(tokens, _FEWEST)
    both = np.concatenate([tokens, np.minimum(decoding, made.dense_tokens[-1])])
    exact, exact_n = np.split(form.dense_of(both, stages).whole_ns, 2)
    decodes = exact_n + form.decode_of(decoding, context, stages).whole_ns
    chunks = exact + form.prompt_of(chunk, past, stages).whole_ns
    lines = np.interp(tokens, made.dense_tokens, made.dense_ns)
    lines_n = np.interp(decoding, made.dense_tokens, made.dense_ns)
    grid = made.decode_n, made.decode_context, made.decode_ns
    found = lines_n + bilinear(*grid, decoding, context)
    grid = made.prefill_tokens, made.prefill_past, made.prefill_ns
    prompts = lines + bilinear(*grid, chunk, past) + made.prefill_ns_per_iteration
    off = np.abs(np.concatenate([found / decodes, prompts / chunks]) - 1)
    return replace(
        made,
        checked=len(off),
        error_median=float(np.median(off)),
        error_p99=float(np.quantile(off, 0.99)),
        error_most=float(off.max()),
    )


def _between(knots: np.ndarray, number: int) -> np.ndarray:
    golden = (5**0.5 - 1) / 2
    parts = (np.arange(1, _CHECKED + 1) * golden ** (number + 1)) % 1.0
    low, high = max(int(knots[0]), 1), int(knots[-1])
    return np.clip(np.round(low * (high / low) ** parts), low, high).astype(np.int64)


def bilinear(
    first: np.ndarray, second: np.ndarray, values: np.ndarray, x: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Values between knots, at pairs of counts."""
    i, f = _place(first, x)
    j, g = _place(second, y)
    low = values[i, j] * (1 - f) + values[i + 1, j] * f
    high = values[i, j + 1] * (1 - f) + values[i + 1, j + 1] * f
    made: np.ndarray = low * (1 - g) + high * g
    return made


def _place(knots: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, len(knots) - 2)
    return left, (at - knots[left]) / (knots[left + 1] - knots[left])
