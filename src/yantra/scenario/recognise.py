"""Recognises a file by its content; a pattern of traces by `{rank}` in its name."""

from __future__ import annotations

import os
import re
from os import path as paths
from typing import Any, Literal, NamedTuple

from yantra.base.documents import Path, parse_yaml, read_text
from yantra.base.errors import ConfigError
from yantra.base.open_values import Open
from yantra.base.regular import open_regular
from yantra.base.trust import Reading
from yantra.scenario.astra_sim_keys import file_with
from yantra.scenario.origin import is_result

Kind = Literal["scenario", "result", "workload", "traces", "recording", "job", "jobs"]

_ZIP = b"PK\x03\x04"
_LOOP_WORDS = ("DATA", "MODEL", "MICRO", "HYBRID_", "TRANSFORMER", "DISTRIBUTED_INFERENCE")
_SCENARIO = re.compile(r"^(workload|cluster|jobs)\s*:", re.MULTILINE)
_SOURCED = re.compile(r"^\s*(?:source|\.) +(\S.*?)(?<!activate)\s*$", re.MULTILINE)
_SERVES = re.compile(r"\bvllm serve\b|\bvllm\.entrypoints|\bsglang\.launch_server\b")
_CALLED = {
    "scenario": "a scenario, which names its own cluster",
    "result": "a result, which holds its own cluster",
    "workload": "a workload",
    "traces": "a workload",
    "recording": "a recording",
    "job": "a training job",
    "jobs": "a list of jobs on one cluster (yantra run)",
}


class Known(NamedTuple):
    """A file and what it is; `text` and `tree` if read."""

    kind: Kind
    name: str
    text: str = ""
    tree: Any = None

    @property
    def needs_cluster(self) -> bool:
        return self.kind in ("workload", "traces", "recording", "job")

    @property
    def called(self) -> str:
        return _CALLED[self.kind]


def recognise(path: Path) -> Known:
    name = os.fspath(path)
    if is_recording(name):
        return Known("recording", name)
    if "{rank}" in name:
        if not name.endswith((".et", ".et.gz")):
            raise ConfigError(name, "neither recordings nor Chakra traces, which end in .{rank}.et")
        return Known("traces", name)
    if _begins_with(name, _ZIP):
        return Known("workload", name)
    try:
        text = read_text(path)
    except ConfigError as error:
        if "not UTF-8" not in error.problem:
            raise
        raise ConfigError(name, _binary(name)) from None
    if is_result(text):
        return Known("result", name, text)
    if text.lstrip()[:1] == "<":
        raise ConfigError(name, "HTML, as reports are; expected the scenario or the result (-o)")
    if profiler := _profiler(text.encode(), name):
        raise ConfigError(name, profiler)
    if _SCENARIO.search(text) is None and (job := _job_of_framework(text, name)) is not None:
        return Known("job", name, text, job)
    if text.startswith("#!") or name.endswith(".sh"):
        problem = "a script without a launch that is known here (docs/reference/frameworks.md)"
        if (sourced := _SOURCED.search(text)) is not None:
            problem += f"; it sources {sourced[1]}, whose text it needs in its place"
        raise ConfigError(name, problem)
    tree = parse_yaml(text, name)
    return Known(_kind_of(tree, name), name, text, tree)


def _job_of_framework(text: str, name: str) -> Any:
    from yantra.workloads import frameworks

    if _SERVES.search(text):
        problem = f"starts an engine that serves; expected yantra serve --engine {name}"
        raise ConfigError(name, problem)
    return frameworks.read(text, name)


def _kind_of(tree: Any, name: str) -> Kind:
    if isinstance(tree, str) and tree.startswith(_LOOP_WORDS):
        problem = "a text workload of ASTRA-sim 1.0; make it a workload first: yantra chakra"
        raise ConfigError(name, f"{problem} convert text {name} -o step.yw")
    if isinstance(tree, dict) and "jobs" in tree and "workload" not in tree:
        return "jobs"
    if isinstance(tree, dict) and tree.get("format") == "yantra-partial":
        problem = (
            "the partial result of an interrupted run; expected its scenario, or a whole result"
        )
        raise ConfigError(name, problem)
    if not isinstance(tree, dict) or not tree.keys().isdisjoint(("workload", "cluster")):
        return "scenario"
    if kind := file_with(tree):
        part = "remote-memory" if kind == "memory" else kind
        raise ConfigError(
            name,
            f"the {part} file of an ASTRA-sim run, which has four files: yantra astra-sim "
            f"--{part}-configuration={name} and the others (yantra astra-sim --help)",
        )
    return "scenario" if tree.keys().isdisjoint(("model", "plan")) else "job"


def is_recording(name: str) -> bool:
    """Whether a file, or the files of a pattern with {rank}, are recordings.

    Raises ConfigError for those of a profiler that is not read.
    """
    if name.endswith((".yaml", ".yml", ".et", ".et.gz", ".yw")):
        return False

    from yantra.scenario import recordings

    return recordings.is_recording(name)


def _profiler(data: bytes, name: str) -> str:
    from yantra.chakra.other_formats import recognised

    return recognised(data, name)


def _binary(name: str) -> str:
    from yantra.chakra import files
    from yantra.chakra.other_formats import found_in

    if found := found_in(name):
        return found.sentence(name)
    files.load(name)
    stem, _, ending = name.rpartition(".")
    start, _, rank = stem.rpartition(".")
    if ending == "et" and rank.isdigit():
        from yantra.chakra.rank_files import only_some

        pattern = f"{start}.{{rank}}.et"
        more = only_some(pattern)
        told = f"a trace of one rank; name those of all ranks: '{pattern}'"
        return f"{told}; {more}" if more else told
    return "neither a scenario, a result nor a workload (.yw): not UTF-8 text"


def _begins_with(name: str, mark: bytes) -> bool:
    try:
        with open_regular(name) as file:
            return file.read(len(mark)) == mark
    except (OSError, ValueError):
        return False  # the text reader says what is wrong


def workload_of(known: Known) -> dict[str, Any]:
    """The mapping `workload` of a scenario; a recording is converted to what it names."""
    if known.kind == "recording":
        from yantra.scenario.recordings import opened

        made = opened([known.name])
        return workload_of(Known("traces" if "{rank}" in made else "workload", made))
    if known.kind == "workload":
        return {"templates": known.name}
    if known.kind == "traces":
        from yantra.tracing.pytorch.files import groups_name
        from yantra.workloads.templates.expand import GROUPS

        names = groups_name(known.name), paths.join(paths.dirname(known.name), GROUPS)
        beside = next(({"groups": name} for name in names if paths.isfile(name)), {})
        return {"traces": known.name} | beside
    from yantra.scenario.training import STEP, step_of_job

    plan = known.tree.get("plan")
    fields = plan.values() if isinstance(plan, dict) else ()
    if any(isinstance(one, Open) for one in (known.tree.get("model", Open()), *fields)):
        return dict(known.tree)
    with Reading(known.name):
        tree: dict[str, Any] = STEP.write(step_of_job(known.tree, known.name), "")
    return tree
