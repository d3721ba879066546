"""Command lines that start vLLM and SGLang: read as deployments, and written for one.

A table per engine has its flags and what they are here, used both ways. Trade-off: a script has one
replica, of which a batch array or a deployment of Kubernetes starts several.
"""

from __future__ import annotations

from yantra.serving.commands.apart import emit_apart
from yantra.serving.commands.read import Launch, is_launch, load, of_text
from yantra.serving.commands.write import emit

__all__ = ["Launch", "emit", "emit_apart", "is_launch", "load", "of_text"]
