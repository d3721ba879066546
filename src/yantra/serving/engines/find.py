"""Finds and reads engines: the built-in files by name, a user's own by path."""

from __future__ import annotations

from functools import cache
from os import path as paths
from typing import Any

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.named_files import NamedFiles
from yantra.compute.families.frameworks import FRAMEWORKS
from yantra.fabric.clusters.reader import Place
from yantra.serving.engines.types import Engine

_FILES = NamedFiles("engine", paths.join(paths.dirname(__file__), "files"))
_HOST = ("iteration", "sequence", "token")
_FACTORS = ("products", "attention")
_OPTIONAL = ("kernels", "scheduler", "factors")


def names() -> tuple[str, ...]:
    """The built-in engines."""
    return _FILES.names()


def load(name: Path, *, where: str = "engine", folder: Path = "") -> Engine:
    """A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. Raises
    ConfigError, at `where` for an unknown name.
    """
    path = _FILES.path_of(name, where=where, folder=folder)
    return parsed(read_text(path), path)


@cache
def parsed(text: str, path: str) -> Engine:
    """The engine that a text is."""
    place = Place(path, "")
    top = place.mapping(
        parse_yaml(text, path), ("title", "version", "sources", "host", "interval"), _OPTIONAL
    )
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    at = place.key("host")
    host = at.mapping(top["host"], _HOST, ())
    read: dict[str, Any] = {
        key: at.key(key).quantity(host[key], "time", "ns", least=0) for key in _HOST
    }
    kernels = ""
    if "kernels" in top:
        kernels = place.key("kernels").choice(top["kernels"], tuple(FRAMEWORKS))
    factors: dict[str, Any] = {}
    if "factors" in top:
        at = place.key("factors")
        for key, stated in at.mapping(top["factors"], (), _FACTORS).items():
            factors[key] = at.key(key).ratio(stated)
    if "scheduler" in top:
        factors["scheduler"] = place.key("scheduler").text(top["scheduler"])
    return Engine(
        name=paths.splitext(paths.basename(path))[0],
        title=place.key("title").text(top["title"]),
        version=place.key("version").text(top["version"]),
        kernels=kernels,
        interval=place.key("interval").ratio(top["interval"]),
        sources=tuple(sources.items()),
        **read,
        **factors,
    )
