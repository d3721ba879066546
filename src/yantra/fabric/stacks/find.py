"""Finds and reads stacks: the built-in files by name, a user's own by path."""

from __future__ import annotations

from functools import cache
from os import path as paths
from typing import Any

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import expected_got
from yantra.base.named_files import NamedFiles
from yantra.fabric.clusters.reader import Place
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.types import (
    ANY,
    FACTORS,
    NOTHING,
    OTHERS,
    PlanInterval,
    Stack,
    Terms,
)

_FILES = NamedFiles("stack", paths.join(paths.dirname(__file__), "files"))


def names() -> tuple[str, ...]:
    """Return the names of the built-in stacks, sorted."""
    return _FILES.names()


def load(name: Path, *, where: str = "stack", folder: Path = "") -> Stack:
    """Return a built-in stack by name, or read a file of the same form by path.

    A path has a `/` in it or ends in `.yaml`; a relative one starts from `folder`. `where` is the
    field that an unknown name is reported at. Raises ConfigError.
    """
    path = _FILES.path_of(name, where=where, folder=folder)
    return parsed(read_text(path), path)


@cache
def parsed(text: str, path: str) -> Stack:
    """Return the stack that a text is; paths in it start from the folder of `path`."""
    place = Place(path, "")
    top = place.mapping(parse_yaml(text, path), ("title", "sources", "machines"), ("copies",))
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    at = place.key("machines")
    machines = top["machines"]
    if not isinstance(machines, dict) or ANY not in machines:
        raise at.error(expected_got(f"terms by cluster, and those of '{ANY}' other", machines))
    return Stack(
        name=paths.splitext(paths.basename(path))[0],
        title=place.key("title").text(top["title"]),
        sources=tuple(sources.items()),
        copies=place.key("copies").count(top["copies"]) if "copies" in top else None,
        machines=tuple((key, _terms(at.key(key), machines[key])) for key in machines),
    )


def _profile(place: Place, tree: Any) -> str:
    """Read the profile that terms go with; a path starts from the folder of the stack."""
    if tree is None:
        return ""
    from yantra.compute import profiles

    text = place.text(tree)
    if text not in profiles.names():
        text = paths.abspath(paths.join(paths.dirname(place.path), text))
    profiles.load(text, where=place.name)
    return text


def _terms(place: Place, tree: Any) -> Terms:
    given = place.mapping(tree, ("rows", "models", *FACTORS), (*OTHERS, "profile", "plans"))
    read: dict[str, Number] = {}
    for key in (*FACTORS, *OTHERS):
        if key not in given:
            read[key] = NOTHING
        elif key == "launch":
            read[key] = place.key(key).quantity(given[key], "time", "ns", least=0)
        else:
            read[key] = place.key(key).ratio(given[key])
    return Terms(
        rows=place.key("rows").whole(given["rows"]),
        models=place.key("models").whole(given["models"]),
        profile=_profile(place.key("profile"), given.get("profile")),
        plans=_plans(place.key("plans"), given["plans"]) if "plans" in given else (),
        **read,
    )


def _plans(place: Place, tree: Any) -> tuple[PlanInterval, ...]:
    made = []
    for at, item in place.items(tree):
        given = at.mapping(item, ("tp", "interval"), ("micro_batch",))
        batch = at.key("micro_batch")
        made.append(
            PlanInterval(
                tp=at.key("tp").whole(given["tp"]),
                micro_batch=batch.whole(given["micro_batch"]) if "micro_batch" in given else None,
                interval=at.key("interval").ratio(given["interval"]),
            )
        )
    return tuple(made)
