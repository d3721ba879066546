"""Several jobs on one cluster: the file of `yantra run tenants.yaml`.

    jobs: [a.yaml, {scenario: step.yw, ranks: 8-15, at: 5 us}]
    cluster: pod.yaml
    network: flow

A scenario file with `jobs` in place of `workload`. A run has one network, one setting of
collectives and of resources: this file's, or what all jobs share; differing jobs are refused by
key. A job's own cluster only counts its ranks.
"""

from __future__ import annotations

import os
from os import path as paths
from typing import Any

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, hint
from yantra.base.fields import File, Quantity, Section, Text
from yantra.base.records import Record
from yantra.base.text import count, rank_list
from yantra.base.trust import Reading
from yantra.compute.products import NARROW
from yantra.scenario.fields import Ranks, check_ranks
from yantra.scenario.layout import CLUSTER, DOCUMENT, WORKLOAD, Document, scenario_of
from yantra.scenario.named import expanded, ranks_of_workload
from yantra.scenario.recognise import Known, recognise, workload_of
from yantra.scenario.settings import Settings, with_settings
from yantra.scenario.training import stated_dtype
from yantra.scenario.types import Scenario, Workload

_SHARED = ("semantics", "network", "collectives", "resources", "scheduler", "replay_only")
_HERE_ONLY = ("stack", "host", "tier_networks", "background", "run_undisturbed")
_OF_ONE_JOB = ("quirks", "track_local_memory", "local_memory_trace", "trace_nodes", "fold")
_NOT_SHARED = "only with one job on the cluster; leave it out"
_KEYS = ("jobs", "cluster", *_SHARED, *_HERE_ONLY)
_MOST_RANKS = 2**20
_NO_WORKLOAD = {"traces": "jobs.{rank}.et"}


class Job(Record):
    """Rank i of the workload is `ranks[i]` of the cluster."""

    name: str
    workload: Workload
    ranks: tuple[int, ...]
    at_ns: float = 0.0


class Jobs(Record):
    """Jobs on one cluster; the workload of `shared` is ignored.

    `warnings` are for the user.
    """

    shared: Scenario
    jobs: tuple[Job, ...]
    warnings: tuple[str, ...] = ()


class _Entry(Record):
    scenario: str
    ranks: tuple[int, ...] | None = None
    at_ns: float = 0.0
    name: str | None = None


_ENTRY = Section(
    _Entry,
    {
        "scenario": ("scenario", File(), "a scenario, a workload, traces or a training job"),
        "ranks": ("ranks", Ranks(), "its ranks on the cluster; the first free ones if none"),
        "at": ("at_ns", Quantity("time", "ns", at_least=0), "when it begins"),
        "name": ("name", Text(), "what results call it"),
    },
)


class _Read(Record):
    entry: _Entry
    name: str
    workload: Workload
    count: int
    shared: tuple[tuple[str, Any], ...]
    has_cluster: bool


def load(path: Path, settings: Settings | None = None) -> Jobs:
    """Read a file of jobs; `settings` change the shared scenario.

    Raises ConfigError with file and field.
    """
    name = os.fspath(path)
    tree = parse_yaml(read_text(path), name)
    try:
        with Reading(name):
            return _of_tree(tree, paths.dirname(name), settings or {})
    except ConfigError as error:
        if paths.isfile(error.where.partition(":")[0]) or error.where.startswith("--"):
            raise
        raise type(error)(f"{name}: {error.where}", error.problem) from None


def _of_tree(tree: Any, folder: str, settings: Settings) -> Jobs:
    if not isinstance(tree, dict) or not isinstance(tree.get("jobs"), list) or not tree["jobs"]:
        got = tree.get("jobs") if isinstance(tree, dict) else tree
        raise ConfigError("jobs", expected_got("a list of scenarios", got))
    for key in tree:
        if key in _OF_ONE_JOB:
            raise ConfigError(key, _NOT_SHARED)
        if key not in _KEYS:
            raise ConfigError(str(key), f"unknown key{hint(key, _KEYS)}")
    if "cluster" not in tree:
        raise ConfigError("cluster", "missing; expected a cluster that all jobs run on")
    read = [_job(one, f"jobs[{at}]", folder) for at, one in enumerate(tree["jobs"])]
    names = _names(read)
    whole = {key: tree[key] for key in tree if key != "jobs"} | _common(tree, read, names, folder)
    whole["cluster"] = _typed(_cluster(tree["cluster"], _least_ranks(read), folder), read)
    whole["workload"] = _NO_WORKLOAD
    shared = scenario_of(DOCUMENT.read(_with_settings(whole, settings, folder), "", folder))
    if shared.topology.ranks > _MOST_RANKS:
        problem = f"expected at most {_MOST_RANKS} ranks, as jobs run each; got "
        raise ConfigError("cluster", f"{problem}{shared.topology.ranks}")
    placed = _placed(read, shared.topology.ranks)
    jobs = tuple(
        Job(name=names[at], workload=one.workload, ranks=placed[at], at_ns=one.entry.at_ns)
        for at, one in enumerate(read)
    )
    warnings = [
        f"{one.entry.scenario}: its own cluster gives only its number of ranks, {one.count}"
        for one in read
        if one.has_cluster
    ]
    return Jobs(shared=shared, jobs=jobs, warnings=tuple(dict.fromkeys(warnings)))


def _with_settings(tree: dict[str, Any], settings: Settings, folder: str) -> Any:
    for path in settings:
        if path.startswith("workload"):
            raise ConfigError("--set", f"{path}: each job has its own workload, in its file")
    whole = with_settings(tree, settings, folder)
    if (named := whole.get("semantics", "yantra")) != "yantra":
        raise ConfigError("semantics", f"only yantra with several jobs; got {named}")
    for key in _OF_ONE_JOB:
        if key in whole:
            raise ConfigError(key, _NOT_SHARED)
    return whole


def _job(tree: Any, where: str, folder: str) -> _Read:
    entry: _Entry = _ENTRY.read(
        {"scenario": tree} if isinstance(tree, str) else tree, where, folder
    )
    known = recognise(entry.scenario)
    if known.kind in ("result", "jobs"):
        raise ConfigError(
            where, f"expected a scenario or a workload; {known.name} is {known.called}"
        )
    own = known.tree if known.kind == "scenario" else {"workload": workload_of(known)}
    within = paths.dirname(known.name) if known.kind == "scenario" else ""
    try:
        with Reading(known.name):
            return _read(own, within, known, entry)
    except ConfigError as error:
        if paths.isfile(error.where.partition(":")[0]):
            raise
        raise type(error)(f"{known.name}: {error.where}", error.problem) from None


def _read(tree: Any, folder: str, known: Known, entry: _Entry) -> _Read:
    if not isinstance(tree, dict):
        raise ConfigError("scenario", expected_got("a mapping with workload", tree))
    for key in tree:
        if key not in DOCUMENT.entries:
            raise ConfigError(str(key), f"unknown key{did_you_mean(key, DOCUMENT.entries)}")
        if key in _HERE_ONLY:
            raise ConfigError(key, "say it in the file of the jobs, which share it")
        if key in _OF_ONE_JOB:
            raise ConfigError(key, _NOT_SHARED)
    if "workload" not in tree:
        raise ConfigError("workload", "missing; expected what runs")
    shared = [
        (key, DOCUMENT.entries[key][1].read(tree[key], key, folder))
        for key in _SHARED
        if key in tree
    ]
    return _Read(
        entry=entry,
        name=entry.name or paths.basename(known.name).rpartition(".")[0] or known.name,
        workload=WORKLOAD.read(tree["workload"], "workload", folder),
        count=_count(tree, folder),
        shared=tuple(shared),
        has_cluster="cluster" in tree,
    )


def _count(tree: dict[str, Any], folder: str) -> int:
    if "cluster" not in tree:
        return ranks_of_workload(tree["workload"], folder)
    whole, _, _ = expanded(tree, folder)
    ranks: int = CLUSTER.read(whole["cluster"], "cluster", folder).topology.ranks
    return ranks


def _names(read: list[_Read]) -> list[str]:
    names: list[str] = []
    for one in read:
        again = sum(other.name == one.name for other in read[: len(names)])
        name = f"{one.name} ({again + 1})" if again else one.name
        if name in names:
            raise ConfigError(f"jobs[{len(names)}].name", f"another job is called {name}")
        names.append(name)
    return names


def _common(
    tree: dict[str, Any], read: list[_Read], names: list[str], folder: str
) -> dict[str, Any]:
    common: dict[str, Any] = {}
    for key in _SHARED:
        if key in tree:
            continue  # what all share is said here
        name, field, _ = DOCUMENT.entries[key]
        usual = getattr(Document, name)
        values = [dict(one.shared).get(key, usual) for one in read]
        for at, value in enumerate(values):
            if value != values[0]:
                raise ConfigError(
                    key,
                    f"differs between {names[0]} and {names[at]}, but jobs on one cluster share "
                    "it; set it here, beside jobs",
                )
        if any(key in dict(one.shared) for one in read):
            common[key] = field.write(values[0], folder)
    return common


def _least_ranks(read: list[_Read]) -> int:
    listed = [one.entry.ranks[-1] + 1 for one in read if one.entry.ranks]
    return max(sum(one.count for one in read), *listed, 0)


def _typed(cluster: Any, read: list[_Read]) -> Any:
    """Devices know one type and what kernels say: narrow and 16-bit jobs each run products in their
    own. Other mixtures are refused.
    """
    if not isinstance(cluster, dict) or "name" not in cluster or cluster.get("dtype") is not None:
        return cluster
    found = dict.fromkeys(stated_dtype(one.workload) for one in read)
    stated = [dtype for dtype in found if dtype is not None]
    narrow = [dtype for dtype in stated if dtype in NARROW]
    wide = [dtype for dtype in stated if dtype not in ("bf16", "fp16", *narrow)]
    if len(narrow) > 1 or (len(stated) > 1 and wide):
        problem = f"the products of the jobs are in {' and '.join(stated)}; choose one for all"
        raise ConfigError("cluster.dtype", problem)
    return cluster | ({"dtype": (narrow or stated)[0]} if stated else {})


def _cluster(tree: Any, ranks: int, folder: str) -> Any:
    """A named cluster has the ranks that jobs need, unless given."""
    from yantra.fabric.infragraph import is_infragraph

    if isinstance(tree, str):
        file = paths.join(folder, tree)
        if is_infragraph(tree):
            from yantra.scenario.on_infragraph import cluster_tree

            return cluster_tree(file if paths.exists(file) else tree, {})
        if tree.endswith((".yaml", ".yml")):
            held = parse_yaml(read_text(file), file)
            if isinstance(held, dict) and isinstance(held.get("topology"), list):
                try:
                    own = CLUSTER.read(held, "cluster", paths.dirname(file))
                except ConfigError as error:
                    raise ConfigError(f"{file}: {error.where}", error.problem) from None
                return CLUSTER.write(own, folder)
        tree = {"name": tree}
    if isinstance(tree, dict) and "name" in tree and "ranks" not in tree:
        return tree if isinstance(tree.get("topology"), list) else tree | {"ranks": ranks}
    return tree


def _placed(read: list[_Read], ranks: int) -> list[tuple[int, ...]]:
    whose: dict[int, int] = {}
    for at, one in enumerate(read):
        where = f"jobs[{at}].ranks"
        named = one.entry.ranks or ()
        if named and len(named) != one.count:
            raise ConfigError(
                where, f"expected {count(one.count, 'rank')}, as the job has; got {len(named)}"
            )
        for rank in named:
            check_ranks((rank,), ranks, where)
            if rank in whose:
                raise ConfigError(where, f"rank {rank} already belongs to jobs[{whose[rank]}]")
            whose[rank] = at
    free = [rank for rank in range(ranks) if rank not in whose]
    placed: list[tuple[int, ...]] = []
    for at, one in enumerate(read):
        if one.entry.ranks:
            placed.append(one.entry.ranks)
            continue
        if len(free) < one.count:
            left = rank_list(tuple(free)) if free else "none"
            problem = f"expected {count(one.count, 'free rank')} on the cluster of {ranks}"
            raise ConfigError(f"jobs[{at}]", f"{problem}; free: {left}")
        placed.append(tuple(free[: one.count]))
        free = free[one.count :]
    return placed
