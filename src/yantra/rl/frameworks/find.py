"""Finds and reads frameworks: the built-in files by name, a user's own by path."""

from __future__ import annotations

from functools import cache
from os import path as paths
from typing import Any, get_args

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import expected_got
from yantra.base.named_files import NamedFiles
from yantra.fabric.clusters.reader import Place
from yantra.rl.frameworks.types import Framework, How, Move, What

_FILES = NamedFiles("framework", paths.join(paths.dirname(__file__), "files"))
_TEXTS = ("title", "version", "stack", "engine")
_MOVES = ("to_training", "to_generation", "again", "reference")
_LOGITS = ("loss", "score")
_REFITS = ("whole", "direct")
_DEVICES = ("a100_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "gb200")


def names() -> tuple[str, ...]:
    """The built-in frameworks."""
    return _FILES.names()


def load(name: Path, *, where: str = "framework", folder: Path = "") -> Framework:
    """A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. Raises
    ConfigError, at `where` for an unknown name.
    """
    path = _FILES.path_of(name, where=where, folder=folder)
    return parsed(read_text(path), path)


@cache
def parsed(text: str, path: str) -> Framework:
    """The framework that a text is."""
    place = Place(path, "")
    needed = (*_TEXTS, "sources", "refit", "pads", "overlaps", "experts", "logits", "host", "moves")
    top = place.mapping(parse_yaml(text, path), (*needed, "interval"), ())
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    at = place.key("host")
    host = at.mapping(top["host"], ("tensor", "step", "output", "launch", "fresh", "pageable"), ())
    moves_at = place.key("moves")
    moves = moves_at.mapping(top["moves"], _MOVES, ())
    for name in ("pads", "overlaps"):
        if not isinstance(top[name], bool):
            raise place.key(name).error(expected_got("true or false", top[name]))
    texts: dict[str, Any] = {name: place.key(name).text(top[name]) for name in _TEXTS}
    copies: dict[str, Any] = {name: _moves(moves_at.key(name), moves[name]) for name in _MOVES}
    logits_at = place.key("logits")
    logits = logits_at.mapping(top["logits"], _LOGITS, ())
    moved = [logits_at.key(name).quantity(logits[name], "size", "B").value for name in _LOGITS]
    refit: Any = place.key("refit").choice(top["refit"], _REFITS)
    slower = place.key("experts")
    experts = slower.mapping(top["experts"], (), _DEVICES)
    return Framework(
        name=paths.splitext(paths.basename(path))[0],
        refit=refit,
        pads=top["pads"],
        overlaps=top["overlaps"],
        tensor=at.key("tensor").quantity(host["tensor"], "time", "ns", least=0),
        step=at.key("step").quantity(host["step"], "time", "ns", least=0),
        launch=at.key("launch").quantity(host["launch"], "time", "ns", least=0),
        output=at.key("output").quantity(host["output"], "time", "ns", least=0),
        experts=tuple((name, slower.key(name).ratio(one)) for name, one in experts.items()),
        logit_bytes=(moved[0], moved[1]),
        fresh=at.key("fresh").quantity(host["fresh"], "bandwidth", "B/s"),
        pageable=at.key("pageable").quantity(host["pageable"], "bandwidth", "B/s"),
        interval=place.key("interval").ratio(top["interval"]),
        sources=tuple(sources.items()),
        **texts,
        **copies,
    )


def _moves(place: Place, tree: Any) -> tuple[Move, ...]:
    if tree == []:
        return ()
    found = []
    for at, text in place.items(tree):
        what, _, how = at.text(text).partition(" ")
        if what not in get_args(What) or how not in get_args(How):
            kinds = f"one of {', '.join(get_args(What))}, and one of {', '.join(get_args(How))}"
            raise at.error(expected_got(kinds, text))
        found.append(Move(what, how))  # type: ignore[arg-type]
    return tuple(found)
