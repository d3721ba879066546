"""A recorded job at other settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError, did_you_mean
from yantra.base.output import write_text
from yantra.chakra import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.rescale.asked import why_not
from yantra.tracing.rescale.blocks import with_layers, with_micro_batches
from yantra.tracing.rescale.experts import with_experts
from yantra.tracing.rescale.recording import Recording, value
from yantra.tracing.rescale.replicas import with_replicas
from yantra.tracing.rescale.sizes import NAMES as SIZES
from yantra.tracing.rescale.sizes import with_size
from yantra.tracing.rescale.stages import with_stages
from yantra.tracing.rescale.tensors import with_tensors

SETTINGS = ("layers", *SIZES, "micro_batches", "pp", "tp", "ep", "dp")
"""In the order in which they are applied."""


class Rescaled(NamedTuple):
    """New traces by rank, their groups, the ranks there were, and what changed and is kept."""

    traces: dict[int, Trace]
    groups: Groups
    ranks_before: int
    changed: list[str]
    kept: list[str]

    def write(self, prefix: str) -> None:
        """Write `prefix.<rank>.et` and `prefix.groups.json`."""
        for rank, trace in self.traces.items():
            trace.write(f"{prefix}.{rank}.et")
        listed = {name: list(ranks) for name, ranks in self.groups.items()}
        write_text(f"{prefix}.groups.json", json.dumps(listed, indent=1) + "\n")


def check(path: str, rank: int, trace: Trace, settings: Sequence[str]) -> None:
    """Refuse, as `rescale` does, what one rank rules out."""
    if [*_chosen(settings)] == ["dp"]:
        problem = why_not(Columns(trace), rank)
        if problem:
            raise UnsupportedError(f"{path}: dp: {problem}")


def rescale(
    job: Sequence[RankTrace], settings: Sequence[str], groups: Groups | None = None
) -> Rescaled:
    """The job at `settings`, each NAME=NUMBER or NAME=xFACTOR.

    Raises UnsupportedError where the recording does not determine it, ConfigError for settings that
    are unknown.
    """
    chosen = _chosen(settings)
    recording = Recording(job, groups)
    before = len(recording.ranks)
    for name in SETTINGS:
        text = chosen.get(name)
        if text is None:
            continue
        if name == "dp":
            degree = recording.replicas("dp").degree
            with_replicas(recording, value("dp", text, degree))
        elif name == "tp":
            with_tensors(recording, text)
        elif name == "pp":
            with_stages(recording, text)
        elif name == "ep":
            with_experts(recording, text)
        elif name == "layers":
            with_layers(recording, text)
        elif name == "micro_batches":
            with_micro_batches(recording, text)
        else:
            with_size(recording, name, text)
    return Rescaled(
        recording.traces(), recording.groups, before, list(settings), _kept(chosen, recording)
    )


def _chosen(settings: Sequence[str]) -> dict[str, str]:
    chosen = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in SETTINGS:
            hint = did_you_mean(name, SETTINGS) or f"; expected one of {', '.join(SETTINGS)}"
            raise ConfigError(f"--set {setting}", f"unknown setting of a recording{hint}")
        chosen[name] = text
    if not chosen:
        raise ConfigError("--set", "nothing is changed; expected NAME=NUMBER or NAME=xFACTOR")
    return chosen


def _kept(chosen: dict[str, str], recording: Recording) -> list[str]:
    kept = [f"{name} as recorded" for name in SETTINGS if name not in chosen]
    if {"dp", "tp", "pp", "ep"} & chosen.keys():
        kept.append("what each kind of rank ran")
    if "micro_batches" in chosen:
        kept.append("one sum of gradients a step")
    if {"layers", "width"} & chosen.keys():
        kept.append("the number of gradient buckets")
    if {"width"} & chosen.keys():
        kept.append("the size of a head")
    if recording.stands_for_all:
        kept.append("what the one rank ran, on every rank")
    return [*kept, "host work and delays"]
