"""What to say where a job's number has more than the core's 63 bits."""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError
from yantra.workloads.models.model import Model

_STATE_BYTES = 16
"""Of a weight in training with Adam: weight and gradient in 16 bits, three more in 32."""
MOST_PARAMETERS = 2**63 // _STATE_BYTES


def too_large(model: Any, where: str, problem: str) -> ConfigError:
    if isinstance(model, Model):
        parameters = model.parameters()
        if parameters > MOST_PARAMETERS:
            most = (
                f"expected at most {MOST_PARAMETERS:,} parameters, whose {_STATE_BYTES} bytes each"
            )
            got = f"got {parameters:,}; make layers, widths, experts or vocabulary smaller"
            return ConfigError(model.source, f"{most} 63 bits hold, {got}")
    return ConfigError(where, problem)
