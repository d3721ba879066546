"""Named clusters: `cluster: hgx-h100` becomes its parts,

in the plain tree before reading, so errors keep their places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base import units
from yantra.base.documents import Path
from yantra.base.errors import ConfigError, hint
from yantra.base.fields import Changes
from yantra.fabric import clusters
from yantra.fabric.clusters import Cluster
from yantra.fabric.clusters.find import like
from yantra.fabric.clusters.parts import device_parts, no_rate
from yantra.fabric.stacks.choice import (
    AUTO,
    DEFAULT,
    NOMINAL,
    ROOFLINE,
    UNKNOWN,
    WITHOUT_TERMS,
    Speeds,
    speeds_of,
)
from yantra.fabric.stacks.reserve import machine_parts
from yantra.scenario.frameworks import for_job, stack_of_job, with_auto
from yantra.scenario.layout import CLUSTER, COLLECTIVES, STACK, WORKLOAD
from yantra.scenario.named_layout import LEVELS, NAMED, NamedCluster
from yantra.scenario.training import STEP, plan_of, ranks_of
from yantra.scenario.types import CHANGED
from yantra.scenario.types import Stack as StackTerms

if TYPE_CHECKING:
    from yantra.fabric.stacks import Stack

_PARTS = ("topology", "device", "memory", "machine")
_MORE = (
    "devices",
    "fabric",
    "routing",
    "placement",
    "link_changes",
    "failures",
    "reroute_delay",
)


def cluster_parts(
    cluster: Cluster | Path, ranks: int, dtype: str | None, stack: str | None, semantics: str
) -> dict[str, Any]:
    stack = stack or (DEFAULT if semantics == "yantra" else ROOFLINE)
    speeds = speeds_of(stack)
    if semantics != "yantra":
        _only_speeds(stack, semantics)
        return parts_at(cluster, ranks, dtype, speeds, semantics)
    if stack in WITHOUT_TERMS:
        return parts_at(cluster, ranks, dtype, speeds) | {"stack": _read_stack({"name": stack})}
    return parts_at(cluster, ranks, dtype, speeds, stack=_loaded(stack, ""))


def parts_at(
    cluster: Cluster | Path,
    ranks: int,
    dtype: str | None = None,
    speeds: Speeds = "achievable",
    semantics: str = "yantra",
    stack: Stack | None = None,
    profile: str | None = None,
) -> dict[str, Any]:
    """Return a Scenario's fields at some speeds, without terms if no `stack`.

    `profile` overrides the stack's.
    """
    machine = cluster if isinstance(cluster, Cluster) else clusters.load(cluster)
    if stack is None and profile is None:
        return dict(_usual_parts(machine, ranks, dtype, speeds, semantics))
    parts = machine.scenario_parts(ranks, dtype, speeds=speeds, semantics=semantics)
    if dtype is not None:
        with_products(parts, dtype, speeds)
    if profile is not None:
        with_profile(parts, profile)
    found: dict[str, Any] = {}
    if stack is not None:
        with_measured(parts, stack, machine, dtype, profile)
        found["stack"] = _read_stack(_terms(stack, machine, dtype, parts))
    return _with_rates(_read(parts), machine, dtype, speeds) | found


def _read_stack(tree: dict[str, Any]) -> Any:
    return STACK.read(tree, "stack", "")


def _loaded(stack: str, folder: str) -> Stack:
    from yantra.fabric import stacks

    if stack == AUTO:
        return stacks.stack_for(stacks.NOBODY)
    return stacks.load(stack, folder=folder)


def _only_speeds(stack: str, semantics: str) -> None:
    if stack not in WITHOUT_TERMS:
        problem = f"only with semantics yantra; {semantics} has roofline and nominal; got {stack}"
        raise ConfigError("stack", problem)


def _with_rates(
    parts: dict[str, Any], machine: Cluster, dtype: str | None, speeds: Speeds
) -> dict[str, Any]:
    if dtype is not None:
        return parts
    reached = dict(machine.achievable) if speeds == "achievable" else {}
    rates = tuple((name, peak.value, reached.get(name, peak).value) for name, peak in machine.peak)
    return parts | {"machine": parts["machine"].replace(rates=rates)}


@lru_cache(maxsize=64)
def _usual_parts(
    machine: Cluster, ranks: int, dtype: str | None, speeds: Speeds, semantics: str
) -> dict[str, Any]:
    parts = machine.scenario_parts(ranks, dtype, speeds=speeds, semantics=semantics)
    if dtype is not None:
        with_products(parts, dtype, speeds)
    return _with_rates(_read(parts), machine, dtype, speeds)


def _read(parts: dict[str, Any]) -> dict[str, Any]:
    collectives = COLLECTIVES.read(parts.pop("collectives"), "collectives", "")
    read = CLUSTER.read(parts, "cluster", "")
    return {name: getattr(read, name) for name in _PARTS} | {"collectives": collectives}


Later = Mapping[tuple[str, ...], Any]
"""What is set by the place of its field once a cluster is replaced by its parts."""


def expanded(
    tree: Any, folder: str, later: Later | None = None
) -> tuple[Any, tuple[str, ...], Cluster | None]:
    """Return a scenario's tree with the named cluster replaced,

    the level of each dimension, and the cluster. Relative paths start from `folder`. The file's
    levels, device, memory and collectives override the cluster's. Of settings made `later`, only
    compute model and collectives count: no stack has them.
    """
    cluster = tree.get("cluster") if isinstance(tree, dict) else None
    where = "cluster.name" if isinstance(cluster, dict) else "cluster"
    if isinstance(cluster, str):
        cluster = {"name": cluster}
    if not isinstance(cluster, dict) or "name" not in cluster:
        return (with_auto(tree, folder) if isinstance(tree, dict) else tree), (), None
    given = {key: cluster[key] for key in (*_PARTS, *_MORE) if key in cluster}
    refuse_old(cluster)
    named: NamedCluster = NAMED.read(
        {key: value for key, value in cluster.items() if key not in given}, "cluster", folder
    )
    machine = clusters.load(named.name, where=where, folder=folder)
    if named.site is not None:
        machine = clusters.at_site(machine, named.site, "cluster.site", folder)
    stated = dtype_of_workload(tree.get("workload"), folder)
    is_override = None not in (named.dtype, stated) and named.dtype != stated
    named = named.replace(dtype=named.dtype or _known(stated, machine))
    speeds, terms, stack = _stack(tree, given, later or {}, folder, machine.name, named.dtype)
    parts, levels = _parts(machine, named, speeds, given, tree, folder)
    if stack is not None:
        with_measured(parts, stack, machine, named.dtype)
        is_carried = _own_compute(tree, given, later or {}) == CARRIED
        terms = None if is_carried else _terms(stack, machine, named.dtype, parts)
    if is_override:
        with_products(parts, str(named.dtype), speeds)
    described = {key: _changed(parts[key], given, key, folder) for key in _PARTS if key in parts}
    if levels and "topology" in given:
        described["topology"] = _levels(parts["topology"], levels, given["topology"], folder)
    call_changed(described, list(_places(given)), given.get("machine"))
    whole = {key: tree[key] for key in tree if key != "stack"} | {"cluster": given | described}
    if terms is not None:
        whole["stack"] = terms
    if "collectives" in parts:
        over = tree.get("collectives", {})
        is_mapping = isinstance(over, dict)
        if parts["collectives"].get("selection") and _sends_messages(tree, over, later or {}):
            del parts["collectives"]["selection"]
            if terms is not None and stack is not None:
                whole["stack"] = _without_interval(terms)
        whole["collectives"] = parts["collectives"] | over if is_mapping else over
    return whole, levels, machine


CARRIED = "retargeted"
"""The compute model of recorded kernels on another GPU: the stack's terms are in them already."""

_NOW = {
    "speeds": {"achievable": ROOFLINE, "nominal": NOMINAL, "measured": UNKNOWN},
    "profile": "a file with `kernels:` in it (yantra calibrate)",
    "collectives": "a file with `collectives:` in it (yantra calibrate)",
}
"""What stands in place of keys that a stack has taken over."""


def refuse_old(cluster: Mapping[str, Any]) -> None:
    """Raise ConfigError for a key of `cluster` that moved to stacks."""
    for key, now in _NOW.items():
        if key in cluster:
            said = cluster[key]
            known = now.get(said, UNKNOWN) if isinstance(now, dict) else now
            problem = f"is part of the stack now; expected stack: {known} at the top of the file"
            raise ConfigError(f"cluster.{key}", problem)


def _known(dtype: str | None, machine: Cluster) -> str | None:
    known = [name for name, _ in machine.peak]
    if dtype is not None and dtype not in known:
        choose = f"choose one for them with cluster.dtype (--set cluster.dtype={machine.dtype})"
        raise ConfigError("workload", f"{no_rate(dtype, machine.name, known)}; {choose}")
    return dtype


def _stack(
    tree: dict[str, Any],
    given: Mapping[str, Any],
    later: Later,
    folder: str,
    cluster: str,
    dtype: str | None,
) -> tuple[Speeds, Any, Stack | None]:
    semantics = tree.get("semantics", "yantra")
    said = tree.get("stack")
    if said is not None and not isinstance(said, str):
        return "measured", said, None
    if semantics != "yantra":
        if said is not None:
            _only_speeds(said, semantics)
        return speeds_of(said or ROOFLINE), None, None
    own, choice = _own_compute(tree, given, later), said or DEFAULT
    if said is None and own is not None and own != CARRIED:
        return "achievable", None, None
    if choice in WITHOUT_TERMS and own is not None:
        return speeds_of(choice), None, None
    if choice in WITHOUT_TERMS:
        return speeds_of(choice), {"name": choice}, None
    if choice == AUTO:
        return "measured", None, stack_of_job(tree.get("workload"), folder, cluster, dtype)
    return "measured", None, _loaded(for_job(choice, tree.get("workload"), folder), folder)


_MESSAGES = " (collectives as messages)"


def _sends_messages(tree: dict[str, Any], collectives: Any, later: Later) -> bool:
    options = ("collectives", "selection", "options")
    chosen = bool(collectives) or any(
        place[0] == "collectives" and place[:3] != options for place in later
    )
    return chosen or tree.get("network", "analytical") != "analytical"


def _without_interval(terms: dict[str, Any]) -> dict[str, Any]:
    left = {key: value for key, value in terms.items() if key not in ("interval", "plans")}
    return left | {"name": terms["name"] + _MESSAGES}


def _terms(
    stack: Stack, machine: Cluster, dtype: str | None, parts: Mapping[str, Any]
) -> dict[str, Any]:
    terms = _own_terms(stack, machine, dtype)
    collectives = parts.get("collectives", {})
    is_alone = all(one["size"] == 1 for one in parts.get("topology", ()))
    if machine.measured is None or is_alone or "selection" in collectives:
        return terms
    return _without_interval(terms)


def _own_terms(stack: Stack, machine: Cluster, dtype: str | None) -> dict[str, Any]:
    """The mixture's terms follow from the GPU, also for a user's file of a known one."""
    name = like(machine) if stack.framework == UNKNOWN else machine.name
    return stack.scenario_part(name, dtype)


def terms_of_type(given: StackTerms, cluster: str | None, dtype: str) -> StackTerms:
    """The terms of a shipped stack for a type, where `given` are its own for none."""
    from yantra.fabric import stacks

    name = (given.name or "").partition(" (")[0]
    if cluster is None or name not in stacks.names() or cluster not in clusters.names():
        return given
    stack, machine = stacks.load(name), clusters.load(cluster)

    def terms(of: str | None) -> StackTerms:
        part = _own_terms(stack, machine, of)
        is_without = (given.name or "").endswith(_MESSAGES)
        found: StackTerms = _read_stack(_without_interval(part) if is_without else part)
        return found

    return terms(dtype) if given == terms(None) else given


def _own_compute(tree: dict[str, Any], given: Mapping[str, Any], later: Later) -> str | None:
    if tree.get("replay_only") is True:
        return "recorded"
    device = given.get("device")
    compute = device.get("compute") if isinstance(device, dict) else None
    compute = later.get(("cluster", "device", "compute"), compute)
    compute = later.get(("cluster", "device", "compute", "kind"), compute)
    kind = compute.get("kind") if isinstance(compute, dict) else compute
    return None if kind in (None, "measured") else str(kind)


def with_measured(
    parts: dict[str, Any],
    stack: Stack,
    machine: Cluster,
    dtype: str | None,
    profile: str | None = None,
) -> None:
    """Take the stack's kernels, host copies, memory and collectives.

    A `profile` already there stays.
    """
    found = stack.profile(machine.name, dtype) if profile is None else None
    if found:
        with_profile(parts, found)
    parts["machine"] |= machine_parts(machine, stack)
    if stack.attention_library:
        parts["device"]["compute"]["options"]["attention"] = stack.attention_library
    if stack.collectives:
        if "collectives" not in parts:
            problem = f"{stack.name}: its collectives go only with the network of a named cluster"
            raise ConfigError("stack", problem)
        chosen = parts["collectives"].setdefault("selection", {"kind": "measured", "options": {}})
        chosen["options"]["file"] = stack.collectives
    selected = parts.get("collectives", {}).get("selection")
    if stack.copies is not None and selected is not None:
        selected["options"] |= {"copies": int(stack.copies.value)}


def with_products(parts: dict[str, Any], dtype: str, speeds: Speeds) -> None:
    """Run products in a chosen type, whatever the trace has.

    The roofline takes its rate; measured kernels have types of their own.
    """
    if speeds == "measured":
        parts["device"]["compute"]["options"]["products"] = dtype


def with_profile(parts: dict[str, Any], profile: str) -> None:
    from yantra.compute import profiles

    parts["device"]["compute"]["options"]["profile"] = profile
    rate = profiles.load(profile).rows.host_bytes_per_s
    if rate:
        parts["memory"]["bandwidth"] = units.exact(rate, "B/s")


def _parts(
    machine: Cluster,
    named: NamedCluster,
    speeds: Speeds,
    given: dict[str, Any],
    tree: Any,
    folder: str,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    if "topology" in given and not isinstance(given["topology"], dict):
        if named.ranks is not None:
            raise ConfigError("cluster.ranks", "only without topology, which has its own number")
        parts = device_parts(
            machine, named.dtype or machine.dtype, speeds, "cluster.", _by_type(tree)
        )
        return parts, ()
    semantics = tree.get("semantics")
    ranks = ranks_of_workload(tree.get("workload"), folder) if named.ranks is None else named.ranks
    parts = machine.scenario_parts(
        ranks,
        named.dtype,
        speeds=speeds,
        semantics=semantics if isinstance(semantics, str) else "yantra",
        where="cluster.",
    )
    return parts, machine.levels(ranks)


def _by_type(tree: dict[str, Any]) -> bool:
    return bool(tree.get("semantics") != "astra-sim")


def call_changed(described: dict[str, Any], places: Sequence[tuple[str, ...]], own: Any) -> None:
    """Call a cluster's machine changed if its device, memory or network is.

    `described` are the cluster's parts, `places` the changes, such as `("device", "peak")`, `own`
    the user's words on the machine.
    """
    stated = described["machine"]
    own = own if isinstance(own, dict) else {}
    if not isinstance(stated, dict) or not places:
        return
    if "name" not in own and not stated["name"].endswith(CHANGED):
        stated["name"] += CHANGED
    if "peak" not in own and any(place[:2] == ("device", "peak") for place in places):
        stated["peak"] = described["device"]["peak"]


def _places(given: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for part, keys in given.items():
        if part != "machine":
            is_mapping = isinstance(keys, dict) and keys
            yield from ((part, key) for key in keys) if is_mapping else [(part,)]


def _changed(part: Any, given: dict[str, Any], key: str, folder: str) -> Any:
    if key not in given or key == "topology":
        return part
    if not isinstance(given[key], dict):
        return given[key]
    changes = NAMED.entries[key][1]
    assert isinstance(changes, Changes)
    return changes.over(part, given[key], f"cluster.{key}", folder)


def with_compute_options(device: Any, machine: Cluster) -> Any:
    """Return a device whose compute model has the cluster's options.

    The scenario's options override them.
    """
    compute = device.get("compute") if isinstance(device, dict) else None
    chosen = compute if isinstance(compute, dict) else {"kind": compute}
    kind, given = chosen.get("kind"), chosen.get("options") or {}
    options = machine.compute_options(kind) if isinstance(kind, str) else {}
    if not options or not isinstance(given, dict):
        return device
    return device | {"compute": chosen | {"options": options | given}}


def _levels(
    dimensions: list[Any], levels: tuple[str, ...], given: dict[str, Any], folder: str
) -> list[Any]:
    for name, changes in given.items():
        for at in dimensions_of(name, levels):
            where = f"cluster.topology.{name}"
            changed = LEVELS.changes.over(dimensions[at], changes, where, folder)
            dimensions = [*dimensions[:at], changed, *dimensions[at + 1 :]]
    return dimensions


def dimensions_of(name: str, levels: tuple[str, ...]) -> list[int]:
    """Return a level's dimensions, by its name or first word.

    Raises ConfigError.
    """
    found = [at for at, level in enumerate(levels) if name in (level, level.split(" ")[0])]
    if not found:
        known = tuple(dict.fromkeys(levels))
        problem = f"no level of this network{hint(name, known)}"
        raise ConfigError(f"cluster.topology.{name}", problem)
    return found


def dtype_of_workload(workload: Any, folder: str) -> str | None:
    """Return a workload's stated type of products, or None;

    traces state it in the first one's metadata.
    """
    if not isinstance(workload, dict):
        return None
    if "model" in workload:
        from yantra.compute.products import RATE_TYPES

        dtype = plan_of(STEP.read(workload, "workload", folder)).dtype
        return RATE_TYPES.get(dtype, dtype)
    templates, traces = workload.get("templates"), workload.get("traces")
    if templates is not None and traces is not None:
        return None
    if isinstance(templates, str):
        from yantra.workloads.templates import load

        return load(paths.join(folder, templates)).dtype
    if isinstance(traces, str) and "{rank}" in traces:
        from yantra.chakra.heads import DTYPE, stated_in

        return stated_in(paths.join(folder, traces.replace("{rank}", "0"))).get(DTYPE)
    return None


def ranks_of_workload(workload: Any, folder: str) -> int:
    """Return a workload's ranks: its file's, or trace files counted from 0."""
    if isinstance(workload, dict) and "model" in workload:
        return ranks_of(STEP.read(workload, "workload", folder))
    templates = workload.get("templates") if isinstance(workload, dict) else None
    if isinstance(templates, str):
        from yantra.workloads.templates import load

        return load(paths.join(folder, templates)).ranks
    traces = workload.get("traces") if isinstance(workload, dict) else None
    if not isinstance(traces, str) or "{rank}" not in traces:
        WORKLOAD.read(workload, "workload", folder)  # its own mistakes come first
        raise ConfigError("cluster.ranks", "missing; expected a whole number")
    ranks = 0
    while paths.exists(paths.join(folder, traces.replace("{rank}", str(ranks)))):
        ranks += 1
    if not ranks:
        from yantra.chakra.rank_files import only_some

        first = traces.replace("{rank}", "0")
        problem = only_some(paths.join(folder, traces)) or f"there is no {first} to count"
        raise ConfigError("cluster.ranks", f"missing, and {problem}; expected a whole number")
    return ranks
