"""How to get the packages of extras: by their own names, as pyproject.toml has them.

So a message holds for a wheel as for a source tree, whatever the distribution is called.
"""

from __future__ import annotations

NEEDS = {
    "tables": "pyarrow>=17",
    "plots": "matplotlib>=3.8",
    "torch": "torch>=2.5",
    "ray": "ray>=2.40",
    "explore": "optuna>=4,<7",
    "infragraph": "infragraph>=3.1,<4",
    "service": "grpcio>=1.60",
}


def install(extra: str) -> str:
    """Return the command that installs what an extra needs."""
    return f"pip install '{NEEDS[extra]}'"
