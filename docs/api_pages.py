"""The pages of Python names, for mkdocstrings.

A module's page lists `__all__`, else public definitions. A name of several modules is on one page
and linked from others; `field_docs.py` adds fields' meanings.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

MODULES = (
    "yantra",
    "yantra.asked",
    "yantra.lives.life",
    "yantra.lives.days.day",
    "yantra.serving",
    "yantra.serving.serve",
    "yantra.scenario",
    "yantra.compile",
    "yantra.run",
    "yantra.run.simulate",
    "yantra.result",
    "yantra.export.stored",
    "yantra.run.sweep",
    "yantra.run.fold",
    "yantra.run.validate",
    "yantra.chakra",
    "yantra.workloads",
    "yantra.workloads.templates",
    "yantra.workloads.schedules",
    "yantra.workloads.schedules.schedule",
    "yantra.workloads.models.transformer",
    "yantra.collectives",
    "yantra.collectives.algorithm",
    "yantra.collectives.schedule",
    "yantra.collectives.contract",
    "yantra.fabric",
    "yantra.fabric.topologies",
    "yantra.fabric.topologies.topology",
    "yantra.fabric.topologies.contract",
    "yantra.fabric.clusters",
    "yantra.explain",
    "yantra.explore",
    "yantra.astra_sim",
    "yantra.tracing.collect",
    "yantra.tracing.replay",
    "yantra.base.errors",
    "yantra.base.trust",
    "yantra.base.units",
    "yantra.scenario.quirks",
    "yantra.base.registry",
    "yantra.base.contract",
    "yantra.kinds",
    "yantra.kinds.kind",
)
_ROOT = "yantra"
_MODULE_TEXT = """\
::: {}
    options:
      members: false
      show_root_heading: false
      show_root_toc_entry: false
"""


def pages() -> dict[str, str]:
    homes = _homes()
    made = {"README.md": _overview()}
    return made | {f"{name}.md": "".join(_page(name, homes)) for name in MODULES}


def names_of(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if name != "__version__"]
    tree = ast.parse(inspect.getsource(module))
    names = (getattr(node, "name", "_") for node in tree.body if not isinstance(node, ast.Import))
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


def path_of(module: ModuleType, name: str) -> str:
    """Return a public name's path in the source."""
    value = getattr(module, name)
    if inspect.ismodule(value):
        return f"{value.__name__}.{name}" if callable(value) else value.__name__
    if inspect.isclass(value) or inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{module.__name__}.{name}"


def _homes() -> dict[str, str]:
    """Return each path's module: the first but the root."""
    homes: dict[str, str] = {}
    for name in (*(name for name in MODULES if name != _ROOT), _ROOT):
        module = import_module(name)
        for public in names_of(module):
            homes.setdefault(path_of(module, public), name)
    return homes


def _overview() -> str:
    rows = (f"| [`{name}`]({name}.md) | {_first_line(import_module(name))} |\n" for name in MODULES)
    return (
        "# Python\n\nThe public names of each module. The [tutorial](../tutorial/README.md) shows "
        "them in use.\n\n| module | what it is |\n|---|---|\n" + "".join(rows)
    )


def _page(name: str, homes: dict[str, str]) -> Iterator[str]:
    module = import_module(name)
    yield f"# {name}\n\n{_MODULE_TEXT.format(name)}"
    elsewhere = []
    for public in names_of(module):
        path = path_of(module, public)
        if inspect.ismodule(getattr(module, public)) and path in MODULES:
            elsewhere.append((public, f"[{path}]({path}.md)"))
        elif homes[path] == name:
            yield f"\n::: {path}\n"
        else:
            elsewhere.append((public, f"[{homes[path]}][{path}]"))
    if elsewhere:
        yield "\n## Names of other modules\n\n| name | described in |\n|---|---|\n"
        yield from (f"| `{public}` | {link} |\n" for public, link in elsewhere)


def _first_line(module: Any) -> str:
    return (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")
