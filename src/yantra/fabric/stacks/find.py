"""Finds and reads stacks: the built-in files by name, a user's own by path."""

from __future__ import annotations

import re
from functools import cache
from os import path as paths
from typing import Any

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.named_files import NamedFiles
from yantra.fabric.clusters.reader import Place
from yantra.fabric.clusters.types import Number
from yantra.fabric.stacks.choice import AUTO, CHOICES, UNKNOWN
from yantra.fabric.stacks.types import (
    ANY,
    DENSE,
    FACTORS,
    INFERENCE,
    MOE,
    NOTHING,
    OTHERS,
    Graphs,
    Memory,
    PlanInterval,
    Stack,
    Terms,
)

_OPTIONAL = (
    "copies",
    "graphs",
    "host_waits",
    "memory",
    "framework",
    "names",
    "year",
    "release",
    "kind",
)
_DATED = re.compile(r"-(\d\d\.\d\d|20\d\d)")
_OWN = frozenset({"based_on", "kernels", "collectives", "attention_library"})
_OF_OWN = ("device", "cluster", "source")
_FILES = NamedFiles("stack", paths.join(paths.dirname(__file__), "files"))


def names() -> tuple[str, ...]:
    return _FILES.names()


def newest(name: str) -> str:
    """Return the newest release or year of a stack named without one; other names as they are."""
    if name in names():
        return name
    dated = [one for one in names() if one.startswith(name) and _DATED.fullmatch(one[len(name) :])]
    return max(dated, default=name)


def of_kind(name: str, is_moe: bool) -> str:
    """Return a name without a release as that for mixtures of experts, if there is one."""
    sibling = f"{name}-moe"
    has_both = newest(name) != name and newest(sibling) != sibling
    return sibling if is_moe and has_both else name


def load(name: Path, *, where: str = "stack", folder: Path = "") -> Stack:
    """Return a built-in stack by name, or read a file of the same form by path.

    A name without its release or year is that of the newest. A path has a `/` in it or ends in
    `.yaml`; a relative one starts from `folder`. `where` is the field that an unknown name is
    reported at. Raises ConfigError.
    """
    if name == AUTO:
        problem = "auto is the stack of a job that names its framework, and none by itself"
        raise ConfigError(where, f"{problem}; expected a name (yantra stack show), or a file")
    named = newest(name) if isinstance(name, str) else name
    path = _FILES.path_of(named, where=where, folder=folder)
    return parsed(read_text(path), path)


@cache
def parsed(text: str, path: str) -> Stack:
    """Return the stack that a text is; paths in it start from the folder of `path`."""
    place = Place(path, "")
    tree = parse_yaml(text, path)
    if isinstance(tree, dict) and "machines" not in tree and not _OWN.isdisjoint(tree):
        return _of_own(place, tree)
    top = place.mapping(tree, ("title", "sources", "machines"), _OPTIONAL)
    sources = place.key("sources").texts(top["sources"])
    place = place.with_sources(sources)
    at = place.key("machines")
    machines = top["machines"]
    if not isinstance(machines, dict) or ANY not in machines:
        raise at.error(expected_got(f"terms by cluster, and those of '{ANY}' other", machines))
    name = paths.splitext(paths.basename(path))[0]
    return Stack(
        name=name,
        framework=place.key("framework").text(top.get("framework", name)),
        names=_names(place.key("names"), top["names"]) if "names" in top else (),
        year=place.key("year").whole(top["year"]) if "year" in top else None,
        release=place.key("release").text(top["release"]) if "release" in top else "",
        kind=place.key("kind").choice(top.get("kind", DENSE), (DENSE, MOE)),
        title=place.key("title").text(top["title"]),
        sources=tuple(sources.items()),
        copies=_copies(place.key("copies"), top["copies"]) if "copies" in top else None,
        host_waits=_host_waits(place.key("host_waits"), top.get("host_waits")),
        graphs=_graphs(place.key("graphs"), top["graphs"]) if "graphs" in top else None,
        memory=_memory(place.key("memory"), top["memory"]) if "memory" in top else None,
        machines=tuple((key, _terms(at.key(key), machines[key])) for key in machines),
    )


def _copies(place: Place, tree: Any) -> Number:
    """Read how many experts a token has; 0 takes the number of the job's model."""
    of_model = isinstance(tree, dict) and tree.get("value") == 0
    read = place.count(tree | {"value": 1} if of_model else tree)
    return read.replace(value=0.0, written="0") if of_model else read


def _graphs(place: Place, tree: Any) -> Graphs:
    given = place.mapping(tree, ("jobs", "source"), ("interval",))
    own = given.get("interval")
    return Graphs(
        jobs=place.key("jobs").choice(given["jobs"], (INFERENCE,)),
        source=place.key("source").source(given["source"]),
        interval=None if own is None else place.key("interval").ratio(own),
    )


def _memory(place: Place, tree: Any) -> Memory:
    given = place.mapping(tree, Memory.field_names, ())
    return Memory(**{key: place.key(key).quantity(given[key], "size", "B") for key in given})


def _host_waits(place: Place, tree: Any) -> str | None:
    if tree is None:
        return None
    return place.key("source").source(place.mapping(tree, ("source",), ())["source"])


def _names(place: Place, tree: Any) -> tuple[str, ...]:
    return tuple(at.text(one) for at, one in place.items(tree))


def _of_own(place: Place, tree: dict[str, Any]) -> Stack:
    given = place.mapping(tree, ("title",), (*_OWN, *_OF_OWN))
    at = place.key("based_on")
    name = at.text(given["based_on"]) if "based_on" in given else UNKNOWN
    if name in CHOICES and name != UNKNOWN:
        raise at.error(expected_got("a stack with terms, such as unknown", name))
    base = load(name, where=at.name, folder=paths.dirname(place.path))
    return base.replace(
        name=paths.splitext(paths.basename(place.path))[0],
        title=place.key("title").text(given["title"]),
        kernels=_kernels(place.key("kernels"), given.get("kernels")) or base.kernels,
        collectives=_collectives(place.key("collectives"), given.get("collectives"))
        or base.collectives,
        attention_library=_library(place.key("attention_library"), given.get("attention_library"))
        or base.attention_library,
    )


def _library(place: Place, tree: Any) -> str:
    from yantra.compute.families.attention_libraries import LIBRARIES

    return "" if tree is None else place.choice(tree, tuple(LIBRARIES))


def _kernels(place: Place, tree: Any) -> str:
    if isinstance(tree, str) and "\n" in tree:
        from yantra.compute import profiles

        profiles.load(place.path)
        return place.path
    return _profile(place, tree)


def _collectives(place: Place, tree: Any) -> str:
    from yantra.collectives.selection.own import load as read

    if tree is None:
        return ""
    path = place.path
    if not isinstance(tree, str) or "\n" not in tree:
        path = paths.abspath(paths.join(paths.dirname(path), place.text(tree)))
    read(path)
    return path


def _profile(place: Place, tree: Any) -> str:
    if tree is None:
        return ""
    from yantra.compute import profiles

    text = place.text(tree)
    if text not in profiles.names():
        text = paths.abspath(paths.join(paths.dirname(place.path), text))
    profiles.load(text, where=place.name)
    return text


def _terms(place: Place, tree: Any) -> Terms:
    given = place.mapping(
        tree, ("rows", "models", *FACTORS), (*OTHERS, "profile", "plans", "measured_tp")
    )
    read: dict[str, Number] = {}
    for key in (*FACTORS, *OTHERS):
        if key not in given:
            read[key] = NOTHING
        elif key == "launch":
            read[key] = place.key(key).quantity(given[key], "time", "ns", least=0)
        else:
            read[key] = place.key(key).ratio(given[key])
    if read["taken"].value >= 1:
        asked = "a share of the device's SMs (24 of 132 are 0.182)"
        raise place.key("taken.value").error(expected_got(asked, read["taken"].value))
    return Terms(
        rows=place.key("rows").whole(given["rows"]),
        models=place.key("models").whole(given["models"]),
        profile=_profile(place.key("profile"), given.get("profile")),
        plans=_plans(place.key("plans"), given["plans"]) if "plans" in given else (),
        measured_tp=tuple(
            at.whole(one) for at, one in place.key("measured_tp").items(given["measured_tp"])
        )
        if "measured_tp" in given
        else (),
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
