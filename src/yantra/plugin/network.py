"""A network: when messages arrive."""

from __future__ import annotations

from yantra.network.model import Crossing, Dimension, Fabric, Message, NetworkModel

__all__ = [
    "Crossing",
    "Dimension",
    "Fabric",
    "Message",
    "NetworkModel",
]
