"""Models for people and programs: a row of a list, and every count."""

from __future__ import annotations

from typing import Any

from yantra.workloads.models.model import Model

HEAD = ("name", "parameters", "active", "layers", "sequence", "KV bytes/token")
_UNITS = (("T", 10**12), ("B", 10**9), ("M", 10**6), ("k", 10**3))


def row(model: Model) -> tuple[str, ...]:
    """A model in the columns of `HEAD`; the cache holds bf16, `-` is nothing."""
    cache = model.kv_bytes_per_token()
    return (
        model.name,
        short(model.parameters()),
        short(model.active_parameters()),
        str(len(model.layers)),
        str(model.sequence),
        f"{cache:,}" if cache else "-",
    )


def overview(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "parameters": model.parameters(),
        "active_parameters": model.active_parameters(),
        "layers": len(model.layers),
        "hidden_size": model.hidden,
        "sequence": model.sequence,
        "fixed_sequence": model.fixed_sequence,
        "kv_bytes_per_token": model.kv_bytes_per_token(),
        "state_bytes_per_sequence": model.state_bytes_per_sequence(),
        "forward_flops": model.flops(),
        "source": model.source,
        "notes": list(model.notes),
    }


def short(count: int) -> str:
    """A count with a unit and at most four digits: `70.55 B`, `404 M`."""
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return str(count)
