"""The pages of the Python names, made of signatures and docstrings: one page for each module.

Listed is what a module names in `__all__`, else what it defines without an underscore. A docstring
is taken as Markdown, outside of code with its `<` and `*` as they are.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import Any

from yantra.base.records import Record

MODULES = (
    "yantra",
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
    "yantra.astra_sim",
    "yantra.tracing.collect",
    "yantra.tracing.replay",
    "yantra.base.errors",
    "yantra.base.units",
    "yantra.scenario.quirks",
    "yantra.base.registry",
    "yantra.base.contract",
    "yantra.kinds",
    "yantra.kinds.kind",
)
_CODE = re.compile(r"(`[^`]*`)")
_TOLD = (Record, BaseException, int, str)  # a table of fields tells how these are made, or nothing


def pages() -> dict[str, str]:
    """Return the pages by name, the list of modules first."""
    modules = {name: import_module(name) for name in MODULES}
    made = {"README.md": _overview(modules)}
    return made | {f"{name}.md": _page(name, module) for name, module in modules.items()}


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a module."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if name != "__version__"]
    tree = ast.parse(inspect.getsource(module))
    names = (getattr(node, "name", "_") for node in tree.body if not isinstance(node, ast.Import))
    return list(dict.fromkeys(name for name in names if not name.startswith("_")))


def _overview(modules: dict[str, ModuleType]) -> str:
    rows = (
        f"| [`{name}`]({name}.md) | {_markdown(_first_line(module))} |\n"
        for name, module in modules.items()
    )
    return (
        "# Python\n\nThe public names of each module. What a name does in a task is shown in the "
        "[tutorial](../tutorial/README.md).\n\n| module | |\n|---|---|\n" + "".join(rows)
    )


def _page(name: str, module: ModuleType) -> str:
    parts = [f"# {name}\n", _markdown(inspect.getdoc(module) or "")]
    texts = _texts_of_constants(module)
    for public in names_of(module):
        value = getattr(module, public)
        if inspect.ismodule(value) and not callable(value):
            parts.append(f"## {public}\n\n{_see(value)}")
            continue
        parts.append(f"## {public}\n")
        if inspect.ismodule(value):
            value = getattr(value, public)
        parts += _members(public, value, texts)
    return "\n".join(parts) + "\n"


def _see(module: ModuleType) -> str:
    name = module.__name__
    link = f"[`{name}`]({name}.md)" if name in MODULES else f"`{name}`"
    return f"The module {link}.\n"


def _members(name: str, value: Any, texts: dict[str, str]) -> Iterator[str]:
    if inspect.isclass(value):
        yield _signature(name, value, "class ")
        yield _markdown(_own_doc(value))
        yield _fields(value)
        for member, function, kind in _methods(value):
            yield f"### {name}.{member}\n"
            yield _signature(member, function, kind)
            yield _markdown(inspect.getdoc(function) or "")
    elif callable(value) and hasattr(value, "__name__"):
        yield _signature(name, value, "")
        yield _markdown(inspect.getdoc(value) or "")
    else:
        shown = repr(value)
        yield f"```python\n{name} = {shown if len(shown) <= 400 else shown[:397] + '...'}\n```\n"
        yield _markdown(texts.get(name, ""))


def _signature(name: str, value: Any, kind: str) -> str:
    if kind == "property ":
        kept = getattr(value, "fget", None) or getattr(value, "func", None)
        returns = getattr(kept, "__annotations__", {}).get("return", "")
        return f"```python\n{name}: {returns}\n```\n" if returns else ""
    if inspect.isclass(value) and (hasattr(value, "_fields") or issubclass(value, _TOLD)):
        return ""
    try:
        signature = str(inspect.signature(value)).replace("'", "")
    except (TypeError, ValueError):
        return ""
    if len(kind + name + signature) > 88:
        signature = _broken(inspect.signature(value))
    return f"```python\n{kind}{name}{signature}\n```\n"


def _broken(signature: inspect.Signature) -> str:
    """Return a signature with a line for each parameter."""
    lines = []
    named_only = False
    for parameter in signature.parameters.values():
        named_only |= parameter.kind is parameter.VAR_POSITIONAL
        if parameter.kind is parameter.KEYWORD_ONLY and not named_only:
            named_only = True
            lines.append("    *,\n")
        lines.append(f"    {parameter},\n")
    returns = signature.return_annotation
    end = "" if returns is inspect.Signature.empty else f" -> {returns}"
    return f"(\n{''.join(lines)}){end}".replace("'", "")


def _own_doc(value: type) -> str:
    """Return a class's own docstring, not the one Python makes for it or it inherits."""
    text = value.__dict__.get("__doc__") or ""
    return "" if text.startswith(f"{value.__name__}(") else inspect.cleandoc(text)


def _fields(value: type) -> str:
    """Return the table of the fields of a record or a named tuple."""
    names = getattr(value, "field_names", None) or getattr(value, "_fields", ())
    defaults = (
        value.__dict__ if issubclass(value, Record) else getattr(value, "_field_defaults", {})
    )
    kinds = getattr(value, "__annotations__", {})
    rows = []
    for name in names:
        given = f"`{defaults[name]!r}`" if name in defaults else "required"
        kind = _written(kinds.get(name, ""))
        rows.append(f"| `{name}` | `{kind}` | {given} |\n")
    return "| field | type | default |\n|---|---|---|\n" + "".join(rows) if rows else ""


def _written(kind: Any) -> str:
    text = kind if isinstance(kind, str) else getattr(kind, "__forward_arg__", str(kind))
    return text.replace(" | ", " or ")


def _methods(value: type) -> Iterator[tuple[str, Any, str]]:
    for name, member in value.__dict__.items():
        if name.startswith("_"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            yield name, member.__func__, ""
        elif inspect.isfunction(member):
            yield name, member, ""
        elif isinstance(member, property) or type(member).__name__ == "cached_property":
            yield name, member, "property "


def _texts_of_constants(module: ModuleType) -> dict[str, str]:
    """Return the texts that stand under constants."""
    found: dict[str, str] = {}
    body = ast.parse(inspect.getsource(module)).body
    for node, after in pairwise(body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if targets and isinstance(targets[0], ast.Name) and is_text:
            found[targets[0].id] = inspect.cleandoc(str(after.value.value))  # type: ignore[attr-defined]
    return found


def _first_line(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").split("\n\n")[0].replace("\n", " ")


def _markdown(text: str) -> str:
    """Return a docstring as Markdown."""
    lines = []
    for block in text.split("\n\n"):
        if block.startswith((">>>", "    ")):
            lines.append(f"```python\n{inspect.cleandoc(block)}\n```")
        elif _is_code(block):
            lines.append(f"```python\n{block}\n```")
        else:
            pieces = _CODE.split(block)
            lines.append("".join(p if p.startswith("`") else _escaped(p) for p in pieces))
    return "\n\n".join(lines) + "\n"


def _is_code(block: str) -> bool:
    """Tell whether a block is an example of code that is not indented."""
    if not re.match(r"(?:from [\w.]+ import|import |\w+ = |\w+\.\w+\()", block):
        return False
    try:
        ast.parse(block)
    except SyntaxError:
        return False
    return True


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*") if not text.startswith("|") else text
