"""Whose package `chakra` is active: upstream's, or the drop-in of `distributions/chakra`.

With both installed the drop-in is last on the path and refuses to be imported, so classes never
mix.
"""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

DROP_IN = "yantra-chakra"
"""The distribution of the drop-in."""

UPSTREAM = ("chakra", "mlc-chakra")
"""Names of upstream's distribution: from its repository, from the package index."""

MESSAGES = ("chakra.schema.protobuf.et_def_pb2", "chakra.et_def.et_def_pb2")
"""The modules of messages, by today's name and by that of until May 2024."""


class Active(NamedTuple):
    """The imported package in words; `rival` is the other, if installed."""

    whose: Literal["drop-in", "upstream", "nobody"]
    found: str
    rival: str


def stay_behind_upstream(module: str) -> None:
    rival = upstream()
    if not rival:
        return
    text = f"{rival} is installed, so Yantra's drop-in is not used; {choice()}"
    if module == "__main__":
        sys.stderr.write(f"error: {text}\n")
        sys.exit(2)
    raise ImportError(text)


def choice() -> str:
    name = next((name for name in UPSTREAM if _version(name)), UPSTREAM[0])
    return f"to choose, pip uninstall {name} or pip uninstall {DROP_IN}"


def upstream() -> str:
    """Name upstream's package if it is installed or on the path."""
    for name in UPSTREAM:
        if version := _version(name):
            return f"upstream's {name} {version}"
    for folder in _folders():
        for module in MESSAGES:
            file = folder.joinpath(*module.split(".")[1:]).with_suffix(".py")
            if file.exists() and not _is_ours(file):
                return f"upstream's chakra in {folder}"
    return ""


def active() -> Active:
    file = next(filter(None, map(_file, MESSAGES)), None)
    if file is None:
        return Active("nobody", "", "")
    folder = next(parent.parent for parent in file.parents if parent.name == "chakra")
    version = _version(DROP_IN)
    if _is_ours(file):
        return Active("drop-in", f"Yantra's drop-in {version}".strip() + f", {folder}", upstream())
    return Active("upstream", f"{upstream()}, {folder}", version and f"Yantra's drop-in {version}")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _folders() -> list[Path]:
    spec = find_spec("chakra")
    return [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]


def _file(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin else None


def _is_ours(file: Path) -> bool:
    return stay_behind_upstream.__name__ in file.read_text(encoding="utf-8", errors="replace")
