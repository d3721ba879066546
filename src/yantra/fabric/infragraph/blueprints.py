"""The package's blueprints by name, each in one size.

A lone device is one instance; fabrics use the package's server and switch.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean

_FABRICS = "infragraph.blueprints.fabrics"
_DEVICES = "infragraph.blueprints.devices"


def _class(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _switch(ports: int) -> Any:
    return _class(f"{_DEVICES}.generic.generic_switch", "Switch")(ports)


def _server(factor: int = 1) -> Any:
    return _class(f"{_DEVICES}.generic.server", "Server")(factor)


def _alone(module: str, name: str, *arguments: Any) -> Callable[[], Any]:
    def make() -> Any:
        device = _class(f"{_DEVICES}.{module}", name)(*arguments)
        whole = _class("infragraph", "Infrastructure")(name=device.name)
        whole.devices.append(device)
        whole.instances.add(name=device.name.lower(), device=device.name, count=1)
        return whole

    return make


BLUEPRINTS: dict[str, Callable[[], Any]] = {
    **{
        name: _alone("nvidia.dgx", "NvidiaDGX", name.replace("-", "_"))
        for name in ("dgx1", "dgx2", "dgx-a100", "dgx-h100", "dgx-gb200")
    },
    "mi300x": _alone("amd.mi300x", "MI300X"),
    "xe9680": _alone("dell.xe9680", "Dellxe9680"),
    "xe9680l": _alone("dell.xe9680L", "Dellxe9680L"),
    "xe9685l": _alone("dell.xe9685L", "Dellxe9685L"),
    "server": _alone("generic.server", "Server", 4),
    "ironwood": _alone("ironwood_rack", "IronwoodRack"),
    "clos": lambda: _class(f"{_FABRICS}.closfabric", "ClosFabric")(),
    "clos-fat-tree": lambda: _class(f"{_FABRICS}.clos_fat_tree_fabric", "ClosFatTreeFabric")(
        _switch(4), _server(), 2, [100, 100]
    ),
    "single-tier": lambda: _class(f"{_FABRICS}.single_tier_fabric", "SingleTierFabric")(
        _server(), 4
    ),
    "dragonfly": lambda: _class(f"{_FABRICS}.dragonfly_fabric", "DragonflyFabric")(
        _switch(8), _server(), 4, 2, 2
    ),
    "debruijn": lambda: _class(f"{_FABRICS}.multi_host_debruijn_fabric", "MultiHostDeBruijnFabric")(
        _switch(16), _server(), 3
    ),
    "hybrid-debruijn": lambda: _class(f"{_FABRICS}.hybrid_debruijn_fabric", "HybridDeBruijnFabric")(
        _switch(16), _server(), 3
    ),
}


def infrastructure(name: str, where: str) -> Any:
    if name not in BLUEPRINTS:
        known = ", ".join(sorted(BLUEPRINTS))
        hint = did_you_mean(name, BLUEPRINTS)
        raise ConfigError(where, f"no blueprint is named '{name}'; expected one of {known}{hint}")
    return BLUEPRINTS[name]()
