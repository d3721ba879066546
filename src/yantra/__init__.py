"""Yantra predicts how a distributed machine-learning job runs on a cluster.

    import yantra

    result = yantra.simulate("step.yaml")
    print(result.summary())

Public names are loaded on first use; their types are in `__init__.pyi`.
"""

__version__ = "0.1.0"

_HOMES = {
    "ChakraFiles": "scenario",
    "Collectives": "scenario",
    "ConfigError": "base.errors",
    "Custom": "scenario",
    "DeadlockError": "base.errors",
    "Device": "scenario",
    "Dimension": "scenario",
    "InternalError": "base.errors",
    "Model": "compile",
    "RemoteMemory": "scenario",
    "Resources": "scenario",
    "Result": "result",
    "Scenario": "scenario",
    "SharedBus": "scenario",
    "Templates": "scenario",
    "Topology": "scenario",
    "TraceError": "base.errors",
    "Traces": "scenario",
    "UnsupportedError": "base.errors",
    "WorkloadFile": "scenario",
    "YantraError": "base.errors",
    "allow": "base.trust",
    "compile": "compile",
    "load_result": "export.stored",
    "Prediction": "asked",
    "Plans": "asked",
    "Life": "lives.life",
    "day": "lives.days.day",
    "life": "lives.life",
    "plan": "asked",
    "predict": "asked",
    "collect": "tracing.collect",
    "serve": "serving.serve",
    "simulate": "run.simulate",
    "sweep": "run.sweep",
}
_MODULES = {
    "chakra": "chakra",
    "clusters": "fabric.clusters",
    "collectives": "collectives",
    "errors": "base.errors",
    "explain": "explain",
    "explore": "explore",
    "fabric": "fabric",
    "quirks": "scenario.quirks",
    "result": "result",
    "run": "run",
    "scenario": "scenario",
    "serving": "serving",
    "topologies": "fabric.topologies",
    "units": "base.units",
    "workloads": "workloads",
}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES and name not in _HOMES:
        import sys

        problem = f"module 'yantra' has no attribute '{name}'"
        raise AttributeError(problem, name=name, obj=sys.modules[__name__])  # Python suggests
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"yantra.{_MODULES[name]}")
    value = getattr(import_module(f"yantra.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
