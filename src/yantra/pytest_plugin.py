"""The pytest fixture `predicted_step`: a test fails when a predicted step gets slower.

    def test_step(predicted_step):
        predicted_step("step.yaml", at_most={"memory_need_bytes": "70 GiB"}, at_least={"mfu": 0.4})

Times are compared with the tests' `yantra-baseline.json`; `pytest --yantra-update` writes it.
Predictions are equal on every machine, so no margin is needed.

Trade-off: pytest imports this file wherever Yantra is, so it imports on use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from yantra.result import Result
    from yantra.scenario import Scenario

_FORM = {"format": "yantra-baseline", "version": 1}
_KEY = pytest.StashKey["Baseline"]()


class Baseline:
    """The file of accepted numbers by step."""

    def __init__(self, path: Path, updating: bool) -> None:
        self.path = path
        self.updating = updating
        self._steps: dict[str, dict[str, float]] | None = None
        self._new: dict[str, dict[str, float]] = {}

    def of(self, key: str) -> dict[str, float] | None:
        if self._steps is None:
            self._steps = self._read()
        return self._steps.get(key)

    def put(self, key: str, numbers: dict[str, float]) -> None:
        self._new[key] = numbers

    def write(self) -> None:
        """Write the new numbers, if any, beside the file's others."""
        if not self._new:
            return
        from yantra.base.output import write_text

        steps = self._read() | self._new
        form = _FORM | {"steps": dict(sorted(steps.items()))}
        write_text(self.path, json.dumps(form, indent=1, ensure_ascii=False) + "\n")

    def _read(self) -> dict[str, dict[str, float]]:
        from yantra.base.documents import parse_own_json, read_text
        from yantra.base.errors import ConfigError

        if not self.path.exists():
            return {}
        form = parse_own_json(read_text(self.path), str(self.path))
        if {name: form.get(name) for name in _FORM} != _FORM or not isinstance(form["steps"], dict):
            raise ConfigError(
                str(self.path),
                f"expected a baseline (format {_FORM['format']}, version {_FORM['version']}); "
                "write a new one with pytest --yantra-update",
            )
        return form["steps"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("yantra")
    group.addoption(
        "--yantra-update",
        action="store_true",
        help="accept the steps that are predicted now as the baseline of predicted_step",
    )
    parser.addini(
        "yantra_baseline", "the baseline of predicted_step", default="yantra-baseline.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Find the baseline; refuse to write it from several processes."""
    updating = config.getoption("yantra_update")
    if updating and (hasattr(config, "workerinput") or config.getoption("numprocesses", None)):
        raise pytest.UsageError(
            "--yantra-update: several workers cannot write one baseline; use -n 0"
        )
    config.stash[_KEY] = Baseline(config.rootpath / config.getini("yantra_baseline"), updating)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the baseline, if asked for."""
    baseline = config.stash.get(_KEY, None)
    if baseline is not None and baseline.updating:
        baseline.write()


class PredictedStep:
    """The fixture: call it with a scenario; it fails the test or returns the result."""

    def __init__(self, node: str, baseline: Baseline) -> None:
        self._node = node
        self._baseline = baseline

    def __call__(
        self,
        scenario: str | Path | Scenario,
        *,
        cluster: str | None = None,
        settings: Mapping[str, Any] | None = None,
        name: str = "",
        slower: float = 0.0,
        at_most: Mapping[str, float | str] | None = None,
        at_least: Mapping[str, float | str] | None = None,
    ) -> Result:
        """Run a scenario or its file, and compare.

        `cluster` and `settings` as in `yantra.scenario.load`. Fails beyond 1 + `slower` times the
        baseline, or beyond a limit. Numbers are those of `yantra.result.metrics`; limits may be
        texts with units. `name` distinguishes a test's steps.
        """
        __tracebackhide__ = True
        from yantra.base.errors import YantraError

        try:
            result = _run(scenario, cluster, settings)
            problems = self._problems(result, name, slower, at_most or {}, at_least or {})
            if problems:
                problems.insert(0, result.what_ran.text)
        except YantraError as error:
            problems = [str(error)]
        if problems:  # outside the handler, where pytest would repeat the error
            pytest.fail("\n".join(problems), pytrace=False)
        return result

    def _problems(
        self,
        result: Result,
        name: str,
        slower: float,
        at_most: Mapping[str, float | str],
        at_least: Mapping[str, float | str],
    ) -> list[str]:
        from yantra.result.metrics import metrics

        now = metrics(result)
        key = f"{self._node}[{name}]" if name else self._node
        problems = [_above(now, one, limit) for one, limit in at_most.items()]
        problems += [_below(now, one, limit) for one, limit in at_least.items()]
        if self._baseline.updating:
            self._baseline.put(key, now)
        else:
            problems += self._slower(key, now, slower)
        return [problem for problem in problems if problem]

    def _slower(self, key: str, now: dict[str, float], slower: float) -> list[str]:
        before = self._baseline.of(key)
        if before is None:
            path = self._baseline.path
            return [f"{path}: has no step '{key}'; run pytest --yantra-update and commit the file"]
        then = before["makespan_ns"]
        if now["makespan_ns"] <= then * (1 + slower):
            return []
        more = now["makespan_ns"] / then - 1 if then else float("inf")
        allowed = f", {slower:.2%} allowed" if slower else ""
        first = (
            f"{_told('makespan_ns', now)}, {more:.2%} slower than {_told('makespan_ns', before)}"
        )
        return [f"the step takes {first}{allowed}", *_changes(before, now), _ACCEPT]


_ACCEPT = "if that is meant, accept it with pytest --yantra-update"


@pytest.fixture
def predicted_step(request: pytest.FixtureRequest) -> PredictedStep:
    """Return a function that runs a scenario and fails if its step got slower."""
    return PredictedStep(request.node.nodeid, request.config.stash[_KEY])


def _run(
    scenario: str | Path | Scenario, cluster: str | None, settings: Mapping[str, Any] | None
) -> Result:
    from yantra.base.errors import ConfigError
    from yantra.run.simulate import simulate
    from yantra.scenario import Scenario, load

    if not isinstance(scenario, Scenario):
        return simulate(load(scenario, cluster=cluster, settings=settings))
    if cluster is not None or settings is not None:
        raise ConfigError(
            "predicted_step", "cluster and settings are for files; a Scenario has its own"
        )
    return simulate(scenario)


def _above(now: dict[str, float], name: str, limit: float | str) -> str:
    known = _known(now, name)
    return (
        f"{name}: {_told(name, now)}, at most {limit} allowed"
        if known > _limit(name, limit)
        else ""
    )


def _below(now: dict[str, float], name: str, limit: float | str) -> str:
    known = _known(now, name)
    return (
        f"{name}: {_told(name, now)}, at least {limit} wanted"
        if known < _limit(name, limit)
        else ""
    )


def _known(now: dict[str, float], name: str) -> float:
    from yantra.base.errors import ConfigError, did_you_mean

    if name not in now:
        hint = did_you_mean(name, now) or f"; known names are {', '.join(now)}"
        raise ConfigError("predicted_step", f"the run has no number '{name}'{hint}")
    return now[name]


def _limit(name: str, limit: float | str) -> float:
    from yantra.base import units
    from yantra.base.errors import ConfigError

    if not isinstance(limit, str):
        return limit
    try:
        kind, unit = units.of_name(name)
    except KeyError:
        raise ConfigError(f"predicted_step: {name}", f"expected a number, got '{limit}'") from None
    return units.parse(limit, kind, unit, f"predicted_step: {name}")


def _told(name: str, numbers: dict[str, float]) -> str:
    from yantra.base.units import format_size, format_time

    value = numbers[name]
    if name.endswith("_ns"):
        return format_time(value)
    if name.endswith("_bytes"):
        return format_size(int(value))
    return f"{value:.1%}" if name.endswith("_share") else f"{value:.6g}"


def _changes(before: dict[str, float], now: dict[str, float]) -> list[str]:
    """Return the parts that changed by a thousandth or more, largest first."""
    shares = [name for name in now if name.endswith("_share") and name in before]
    spent = {
        name: now[name] * now["makespan_ns"] - before[name] * before["makespan_ns"]
        for name in shares
    }
    told = sorted((name for name in spent), key=lambda name: -abs(spent[name]))
    return [
        f"  {name.removesuffix('_share').replace('_', ' ')}: {_told(name, before)} -> "
        f"{_told(name, now)} of it"
        for name in told
        if abs(spent[name]) >= 1e-3 * now["makespan_ns"]
    ]
