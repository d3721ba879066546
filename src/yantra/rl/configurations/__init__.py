"""Configurations of frameworks in place of options: NeMo-RL, verl, SkyRL; a file each.

A file of YAML, or a script whose line has `key=value` words. Nothing in it runs. Trade-off: what is
not understood is named, as it may matter; keys of logs, data and optimizers are left out of that.
"""

from __future__ import annotations

from yantra.rl.configurations.reading import Read, read

__all__ = ["Read", "read"]
