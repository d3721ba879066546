"""Sources of workloads: each makes one trace per rank and the communicator groups it names.

Public names load on first use, so that commands that need none start fast; their types are in
`__init__.pyi`.
"""

_HOMES = {
    "InferencePlan": "serving",
    "Model": "models.model",
    "Plan": "plan.plan",
    "Workload": "templates",
    "find_model": "models.catalogue",
    "infer": "serving",
    "load": "templates",
    "train": "training.train",
}
_NAMES_THERE = {"find_model": "find"}

__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'yantra.workloads' has no attribute '{name}'")
    home = import_module(f"yantra.workloads.{_HOMES[name]}")
    value = globals()[name] = getattr(home, _NAMES_THERE.get(name, name))
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
