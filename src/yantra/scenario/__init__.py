"""The scenario: the whole question, as values."""

from __future__ import annotations

from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    COLLECTIVE_TYPES,
    Algorithms,
    ChakraFiles,
    Collectives,
    Custom,
    Device,
    Dimension,
    Groups,
    RemoteMemory,
    Resources,
    Scenario,
    SharedBus,
    Topology,
    Traces,
)

__all__ = [
    "ASTRA_SIM_RESOURCES",
    "COLLECTIVE_TYPES",
    "Algorithms",
    "ChakraFiles",
    "Collectives",
    "Custom",
    "Device",
    "Dimension",
    "Groups",
    "RemoteMemory",
    "Resources",
    "Scenario",
    "SharedBus",
    "Topology",
    "Traces",
]
