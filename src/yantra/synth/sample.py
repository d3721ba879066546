"""Jobs drawn from rules, at the settings of a job, or of one that was fitted, and others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.output import make_folder
from yantra.synth.observe import Observed, jobs_in, observe_one
from yantra.synth.passes import FORWARD
from yantra.synth.rules import Component, Rules, lacks
from yantra.synth.settings import NUMBERS, Settings, changed, stage_features
from yantra.synth.write import draw
from yantra.workloads.templates import Workload

_TRIES = 100  # of drawing settings that fit each other


class Drawn(NamedTuple):
    """A job and its settings."""

    workload: Workload
    settings: Settings


def sample(
    rules: Rules,
    asked: Sequence[str] = (),
    count: int = 1,
    seed: int = 0,
    like: Observed | None = None,
) -> Iterator[Drawn]:
    """Draw jobs; `asked` are `NAME=VALUE`s. The same seed draws the same jobs, one by one.

    Raises ConfigError for settings that fit no plan, UnsupportedError where no rule knows them.
    """
    for number in range(count):
        random = Random(f"{seed} {number}")
        (own,) = random.choices(rules.components, [one.jobs for one in rules.components])
        base = _drawn_settings(rules, own, random) if like is None else like.settings
        settings = changed(base, asked)
        yield Drawn(draw(_fitting(rules, own, settings, like), settings, random), settings)


def _drawn_settings(rules: Rules, own: Component, random: Random) -> Settings:
    """Each setting is that of some job, but those that `own` cannot have."""
    for _ in range(_TRIES):
        drawn = {
            name: random.choice(random.choice(rules.components).seen[name]) for name in NUMBERS
        }
        made = Settings(**drawn, schedule=str(own.seen["schedule"][0]))  # type: ignore[arg-type]
        try:
            changed(made, ()).plan.grid()
        except ConfigError:
            continue
        if not lacks(own, made):
            return made
    return Settings(**{name: some[0] for name, some in own.seen.items()})  # type: ignore[arg-type]


def _fitting(rules: Rules, own: Component, settings: Settings, like: Observed | None) -> Component:
    lacking = [lacks(one, settings) for one in rules.components]
    some = [one for one, lack in zip(rules.components, lacking, strict=True) if not lack]
    if not some:
        raise UnsupportedError(
            f"no job that was fitted had {lacking[0]}, so no rule knows its messages; fit "
            "jobs that have it, or leave it"
        )
    if like is not None:
        return min(some, key=lambda one: _far(one, like))
    return own if any(own is one for one in some) else some[0]


def _far(component: Component, like: Observed) -> float:
    layers = like.settings.stages
    far = 0.0
    for n, stage in enumerate(like.stages):
        features = stage_features(like.settings, n, layers)
        found = component.amounts(FORWARD, features)
        for name, value in stage.work.get(FORWARD, {}).items():
            if name in found:
                far += abs(found[name] - value) / max(value, 1.0)
    return far


def write_samples(drawn: Iterator[Drawn], folder: str) -> list[tuple[str, Settings]]:
    """Write each job as a workload file of a folder; returns paths and settings."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ConfigError("-o", f"expected a folder, got the file {folder}")
    make_folder(folder)
    written = []
    for number, one in enumerate(drawn):
        path = os.path.join(folder, f"sample{number:04}.yw")
        one.workload.save(path)
        written.append((path, one.settings))
    return written


def like_job(path: str) -> Observed:
    """The job of `--like`: a workload file, a folder of traces, or a pattern in it."""
    where = (os.path.dirname(path) or ".") if "{rank}" in path else path
    found = jobs_in(where)
    if len(found) != 1:
        raise ConfigError("--like", f"{where}: expected one job, got {len(found)}")
    return observe_one(found[0])
