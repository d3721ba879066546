"""PyTorch, imported on use and refused if too old."""

from __future__ import annotations

import re
from typing import Any

from yantra.base.errors import ConfigError
from yantra.base.extras import install

_OLDEST = (2, 5)
NEEDED = f"PyTorch {_OLDEST[0]}.{_OLDEST[1]} or newer"
_INSTALL = f"{install('torch')} installs it"


def torch_for(what: str) -> Any:
    """Return `torch`, or raise ConfigError naming `what` needs it."""
    try:
        import torch
    except ImportError as error:
        raise ConfigError(
            what, f"needs {NEEDED}, which cannot be imported ({error}); {_INSTALL}"
        ) from None
    version = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
    if version is None or (int(version[1]), int(version[2])) < _OLDEST:
        raise ConfigError(what, f"needs {NEEDED}, found {torch.__version__}; {_INSTALL}")
    return torch
