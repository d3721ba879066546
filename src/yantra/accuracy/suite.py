"""The accuracy suite: all rows predicted, judged by fits that did not see them, and summed up.

    yantra accuracy                runs every row (minutes) and prints the figures
    yantra accuracy --last         prints those of the last recorded run
    python -m yantra.accuracy.suite --write     records a run, and writes the stacks' files;
                                                with names of data sets, runs those alone
    python -m yantra.accuracy.suite --default   records what the default gives, and no more

What is recorded, in `rows/predicted.csv`, is our time of each row by products, attention and the
rest, and what of that is communication where the machine has a profile. Factors follow from it and
the measured times alone, in the same way each time. Each row is then run with the factors that
other rows give it, as `yantra run` does it with a stack; figures are those of these runs, which are
recorded beside the parts.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import path as paths
from statistics import fmean
from typing import Any, NamedTuple

from yantra.accuracy.effects import precision
from yantra.accuracy.fit import Parts
from yantra.accuracy.memory import Peak, memory_errors, peaks, record_peaks, recorded_peaks
from yantra.accuracy.metrics import (
    Band,
    Errors,
    coverage,
    errors,
    interval_score,
)
from yantra.accuracy.ranking import LEAST_PLANS, Ranking, group_of, ranking_of
from yantra.accuracy.rows import LEFT_OUT, NO_PLAN, Row, datasets, rows
from yantra.accuracy.splits import Judged, Ran, judged, on_left_out_machines, with_intervals
from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, did_you_mean

RECORD = paths.join(paths.dirname(__file__), "rows", "predicted.csv")
_PARTS = ("products_s", "attention_s", "rest_s", "communication_s")
_RUNS = ("known_s", "unseen_s")
_HEAD = ("dataset", "name", *_PARTS, *_RUNS)
RANKED = "vtrain_one_node"


class Line(NamedTuple):
    """Figures of one data set on one kind of machine.

    `raw` are the errors without any stack, `known` with factors of the same stack's other models,
    `unseen` with those of other stacks; `covered` is the share within the 90 % interval of `known`.
    """

    dataset: str
    stack: str
    machine: str
    kind: str
    raw: Errors
    known: Errors
    unseen: Errors
    covered: float
    basis: str


class Total(NamedTuple):
    """Figures of all rows of a machine, or of a framework; see `Line`. `bias` is the mean error.

    `ranking` is of their groups of plans, None without any.
    """

    name: str
    raw: Errors
    known: Errors
    bias: float
    covered: float
    ranking: Ranking | None = None


class Report(NamedTuple):
    """All figures of a run; `memory` are errors of peak memory by data set.

    `left_out` are those of a machine with factors from others, of other models, of the stack.
    """

    lines: tuple[Line, ...]
    machines: tuple[Total, ...]
    frameworks: tuple[Total, ...]
    covered_known: float
    covered_unseen: float
    score: float
    constant_score: float
    ranking: Ranking | None
    refused: tuple[tuple[str, str, str], ...]
    memory: Mapping[str, Errors]
    left_out: Mapping[str, Errors]


def predicted_now(
    every: int = 1,
    told: Callable[[int, int], None] = lambda *_: None,
    dataset: str | None = None,
) -> tuple[list[Parts], tuple[tuple[str, str, str], ...]]:
    """Run all rows, of the largest set only `every` so many, and return what came out.

    Second are rows that are refused: data set, name and why. `told` hears how many of all are done.
    Raises ConfigError for a `dataset` that is none.
    """
    from yantra.accuracy.predict import predicted

    known = datasets()
    if dataset is not None and dataset not in known:
        problem = f"no data set is named '{dataset}'; expected one of {', '.join(known)}"
        raise ConfigError("--data", problem + did_you_mean(dataset, known))
    chosen = [row for row in chosen_rows(every) if dataset in (None, row.dataset)]
    made: list[Parts] = []
    refused = []
    for one in predicted(chosen, "measured", lambda done: told(done, len(chosen))):
        if isinstance(one, Parts):
            made.append(one)
        else:
            refused.append((one.row.dataset, one.row.name, one.why))
    return made, tuple(refused)


def chosen_rows(every: int = 1) -> list[Row]:
    """Return the rows that count; of the largest set every so many groups of plans."""
    groups: dict[tuple[object, ...], int] = {}
    found = []
    for row in rows():
        if (row.dataset, row.name) in LEFT_OUT:
            continue
        if row.dataset == RANKED and groups.setdefault(group_of(row), len(groups)) % every:
            continue
        found.append(row)
    return found


class Runs(NamedTuple):
    """Rows run with factors of other models of their stack, and with those of other stacks."""

    known: Ran
    unseen: Ran


def ran_now(
    parts: Sequence[Parts],
    told: Callable[[int, int], None] = lambda *_: None,
    dataset: str | None = None,
) -> Runs:
    """Run rows with the factors that others give them; of one data set alone, if that is given.

    Rows of one model, plan and machine that have the same factors are run once.
    """
    from yantra.accuracy.predict import given_of, ran_with

    both = judged(parts, unseen=False), judged(parts, unseen=True)
    chosen = [
        pair for pair in zip(*both, strict=True) if dataset in (None, pair[0].parts.row.dataset)
    ]
    found: dict[Row, list[float]] = {}
    made: dict[tuple[object, ...], list[float]] = {}
    for done, pair in enumerate(chosen):
        row, factors = pair[0].parts.row, [one.factors for one in pair]
        key = (row.cluster, row.profile, row.dtype, row.model, row.plan, given_of(row), *factors)
        if key not in made:
            made[key] = ran_with(row, factors)
        found[row] = made[key]
        told(done + 1, len(chosen))
    return Runs(*({row: runs[at] for row, runs in found.items()} for at in (0, 1)))


def _recorded() -> list[tuple[Row, dict[str, str]]]:
    """Return the rows of the last recorded run, and what is written of each."""
    by_name = {(row.dataset, row.name): row for row in rows()}
    lines = [line for line in read_text(RECORD).splitlines() if not line.startswith("#")]
    found = ((by_name.get((one["dataset"], one["name"])), one) for one in csv.DictReader(lines))
    return [(row, line) for row, line in found if row is not None]


def recorded() -> list[Parts]:
    """Return what the last recorded run predicted, by parts."""
    return [Parts(row, *(float(line[key]) for key in _PARTS)) for row, line in _recorded()]


def recorded_runs() -> Runs:
    """Return the runs with factors of the last recorded run."""
    of = _recorded()
    return Runs(*({row: float(line[key]) for row, line in of} for key in _RUNS))


def with_recorded(parts: Sequence[Parts], dataset: str) -> list[Parts]:
    """Return the parts of a data set that was run, and what is recorded of all others."""
    return [*(one for one in recorded() if one.row.dataset != dataset), *parts]


def with_recorded_runs(runs: Runs) -> Runs:
    """Return runs with factors, and the recorded ones of all other rows."""
    before = recorded_runs()
    return Runs({**before.known, **runs.known}, {**before.unseen, **runs.unseen})


def last() -> Report:
    """Return the figures of the last recorded run."""
    return report(recorded(), recorded_runs(), (), recorded_peaks())


def record(parts: Iterable[Parts], runs: Runs) -> None:
    """Write what a run predicted."""
    with open(RECORD, "w", encoding="utf-8", newline="") as file:
        file.write("# Our seconds of each row, by python -m yantra.accuracy.suite --write\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEAD)
        for one in parts:
            both = runs.known[one.row], runs.unseen[one.row]
            numbers = (f"{value:.6g}" for value in (*one[1:], *both))
            writer.writerow((one.row.dataset, one.row.name, *numbers))


def report(
    parts: Sequence[Parts],
    runs: Runs,
    refused: tuple[tuple[str, str, str], ...] = (),
    memory: Sequence[Peak] = (),
    dataset: str | None = None,
) -> Report:
    """Return the figures of predictions, judged by runs with factors that did not see them.

    With a `dataset` they are of its rows alone; fits and intervals are from all `parts`.
    """
    known = with_intervals(judged(parts, unseen=False, ran=runs.known))
    unseen = with_intervals(judged(parts, unseen=True, ran=runs.unseen))
    if dataset is not None:
        known, unseen = (
            [one for one in rows_ if one.parts.row.dataset == dataset] for rows_ in (known, unseen)
        )
    bands = [one.band for one in known]
    of_all = [one for one in parts if dataset in (None, one.row.dataset)]
    ranking = ranking_of((one.parts.row, one.seconds) for one in known)
    return Report(
        lines=tuple(_lines(known, unseen)),
        machines=_totals(known, lambda row: row.cluster),
        frameworks=_totals(known, lambda row: row.stack),
        covered_known=coverage(bands),
        covered_unseen=coverage([one.band for one in unseen]),
        score=interval_score(bands),
        constant_score=_constant(known),
        ranking=ranking,
        refused=refused,
        memory=memory_errors(memory),
        left_out={name: errors(of) for name, of in on_left_out_machines(of_all).items()},
    )


def _lines(known: Sequence[Judged], unseen: Sequence[Judged]) -> Iterable[Line]:
    groups: dict[tuple[str, ...], list[tuple[Judged, Judged]]] = defaultdict(list)
    for one, other in zip(known, unseen, strict=True):
        row = one.parts.row
        machine = f"{row.cluster} {precision(row)}"
        groups[row.dataset, row.stack, machine, row.kind].append((one, other))
    for (dataset, stack, machine, kind), found in groups.items():
        ones, others = [one for one, _ in found], [other for _, other in found]
        yield Line(
            dataset, stack, machine, kind,
            raw=errors([one.parts.seconds / one.parts.row.seconds for one in ones]),
            known=errors([one.ratio for one in ones]),
            unseen=errors([other.ratio for other in others]),
            covered=coverage([one.band for one in ones]),
            basis=ones[0].basis,
        )  # fmt: skip


def _totals(known: Sequence[Judged], of: Callable[[Row], str]) -> tuple[Total, ...]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in known:
        groups[of(one.parts.row)].append(one)
    return tuple(
        Total(
            name,
            raw=errors([one.parts.seconds / one.parts.row.seconds for one in found]),
            known=errors([one.ratio for one in found]),
            bias=fmean(one.ratio - 1.0 for one in found),
            covered=coverage([one.band for one in found]),
            ranking=ranking_of((one.parts.row, one.seconds) for one in found),
        )
        for name, found in sorted(groups.items())
    )


def _constant(rows_: Sequence[Judged]) -> float:
    """Return the interval score of the best band that is equally wide for all rows."""
    from math import exp

    def score(width: float) -> float:
        return interval_score(
            [
                Band(one.parts.row.seconds, one.seconds / exp(width), one.seconds * exp(width))
                for one in rows_
            ]
        )

    return min(score(at / 100.0) for at in range(2, 120))


def as_dict(found: Report) -> dict[str, Any]:
    """Return the figures for JSON."""
    lines = [
        line._asdict() | {key: getattr(line, key)._asdict() for key in ("raw", "known", "unseen")}
        for line in found.lines
    ]
    memory, left_out = (
        {name: one._asdict() for name, one in of.items()} for of in (found.memory, found.left_out)
    )
    totals = {
        key: [
            {name: part for name, part in one._asdict().items() if name != "ranking"}
            | {"raw": one.raw._asdict(), "known": one.known._asdict()}
            | _ranking(one.ranking)
            for one in getattr(found, key)
        ]
        for key in ("machines", "frameworks")
    }
    whole = found._asdict() | {"lines": lines, "memory": memory, "left_out": left_out} | totals
    del whole["ranking"]
    return whole | _ranking(found.ranking)


def _ranking(of: Ranking | None) -> dict[str, Any]:
    if of is None:
        return {"tau": None, "tau_groups": 0, "regret": None}
    return {"tau": of.tau, "tau_groups": of.groups, "regret": of.regret._asdict()}


def table(found: Report) -> list[str]:
    """Return the figures as lines of Markdown, for the terminal and the page."""
    lines = [
        "| data set | machine | rows | tables alone | known stack | unseen stack | in 90 % "
        "| fit from |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for line in found.lines:
        kind = ", MoE" if line.kind == "moe" else ""
        cells = (
            f"{line.dataset} ({line.stack}{kind})",
            line.machine,
            str(line.known.rows),
            f"{line.raw.mean:.1%}",
            f"{line.known.mean:.1%}",
            f"{line.unseen.mean:.1%}",
            f"{line.covered:.0%}",
            line.basis,
        )
        lines.append(f"| {' | '.join(cells)} |")
    head = "| all rows of | rows | tables alone | known stack | bias | in 90 % | tau | regret |"
    lines += ["", head, "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for one in (*found.machines, *found.frameworks):
        shares = f"{one.raw.mean:.1%} | {one.known.mean:.1%} | {one.bias:+.1%} | {one.covered:.0%}"
        ranked = ("-", "-") if one.ranking is None else one.ranking.words()
        lines.append(f"| {one.name} | {one.known.rows} | {shares} | {' | '.join(ranked)} |")
    lines += [
        "",
        f"* 90 % intervals hold {found.covered_known:.1%} of the rows of known stacks and "
        f"{found.covered_unseen:.1%} where nothing of the stack was fitted.",
        f"* Their interval score is {found.score:.3f}; that of the best constant band, chosen "
        f"knowing the answers, is {found.constant_score:.3f} (less is better).",
    ]
    if (of := found.ranking) is not None:
        agreement = "-" if of.tau is None else f"{of.tau:.3f}"
        lines += [
            f"* Kendall's tau over {of.groups} groups of {LEAST_PLANS} plans or more of one job, "
            f"pairs closer than 3 % not counted: {agreement}.",
            f"* The plan that we rank first takes {of.regret.mean:.1%} longer than the best of "
            f"its group on average, and at most {of.regret.ninety:.1%} in 90 % of the groups.",
        ]
    if found.left_out:
        of_machines = (
            f"{name} {one.mean:.1%} of {one.rows}" for name, one in found.left_out.items()
        )
        lines.append(f"* A machine left out, other models alone: {', '.join(of_machines)} steps.")
    lines += [
        f"* Peak memory of {name}: {peak.mean:.1%} off on average over {peak.rows} steps, from "
        f"{peak.low:+.1%} to {peak.high:+.1%}."
        for name, peak in found.memory.items()
    ]
    lines += [f"* left out: {dataset} {name}: {why}" for (dataset, name), why in LEFT_OUT.items()]
    lines += [f"* not taken: {steps}: {why}" for steps, why in NO_PLAN.items()]
    lines += [f"* refused: {dataset} {name}: {why}" for dataset, name, why in found.refused]
    return lines


def main() -> int:
    """Record a run with --write, and write the stacks that follow from what is recorded.

    With --default alone what the default gives is recorded, with the stacks as they are. Prints
    what moved, and the figures.
    """
    from yantra.accuracy import default
    from yantra.accuracy.moved import moved, state
    from yantra.accuracy.stack_files import write_all, write_unknown

    if "--default" in sys.argv:
        default.record(default.default_now(chosen_rows(), _told))
        write_unknown()
        sys.stdout.write("\n".join(default.table(default.judge(default.recorded()))) + "\n")
        return 0
    before = state(last(), default.judge(default.recorded()))
    if "--write" in sys.argv:
        _run_and_record([*sys.argv[sys.argv.index("--write") + 1 :]] or [None])
    write_all(recorded(), recorded_runs().known)
    if "--write" in sys.argv:
        default.record(default.default_now(chosen_rows(), _told))
        write_unknown()
    after = state(last(), default.judge(default.recorded()))
    sys.stdout.write("\n".join([*moved(before, after), "", *table(last())]) + "\n")
    return 0


def _run_and_record(chosen: Sequence[str | None]) -> None:
    """Run some data sets, None for all, and record them beside the others."""
    order = {row: at for at, row in enumerate(rows())}
    every: list[Parts] = []
    for dataset in chosen:
        parts, refused = predicted_now(told=_told, dataset=dataset)
        every = [one for one in every or recorded() if one.row.dataset != dataset]
        every = sorted([*every, *parts] if dataset else parts, key=lambda one: order[one.row])
        sys.stdout.writelines(f"refused: {one}\n" for one in refused)
    record(every, ran_now(every, told=_told))
    record_peaks(peaks(chosen_rows()))


def _told(done: int, of: int) -> None:
    if done % 25 == 0:
        print(f"{done} of {of}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
