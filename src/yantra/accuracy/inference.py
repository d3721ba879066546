"""How far iterations of decode are from those of serving engines, with the default.

    python -m yantra.accuracy.inference rows.csv            judges rows of a file
    python -m yantra.accuracy.inference rows.csv --write    and records the figures for the page

A row has `model`, `weights` (bf16, fp8_block), `gpu` (H100, B200), `gpus`, `expert_parallel`,
`mean_batch`, `context` in tokens, `mean_output` in tokens, and `median_itl_ms`, the median time
between the tokens of a sequence. Rows whose batch is above half of their output are left out: in
those the median iteration has prompts in it.

Each row is one iteration of `yantra workload infer --phase decode`, run as `yantra run` does on the
named cluster of its GPU. Trade-off: the default knows no engine. What its scheduler, sampler and
detokeniser take between iterations is in the measured times and not in ours; so is what varies in a
batch, of which the row has the mean.

No rows are shipped: those that we know of state no licence (ML.ENERGY leaderboard v3, vLLM). What
is recorded are figures of many rows.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from os import path as paths
from statistics import fmean, median
from typing import NamedTuple

from yantra.accuracy.metrics import cells
from yantra.base.documents import read_text
from yantra.base.errors import ConfigError, YantraError, expected_got
from yantra.fabric.stacks.choice import DEFAULT
from yantra.run.interval import interval
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.serving import InferencePlan, infer

RECORD = paths.join(paths.dirname(__file__), "rows", "inference_judged.csv")
CLUSTERS = {"A100": "dgx-a100-80gb", "H100": "hgx-h100", "H200": "hgx-h200", "B200": "hgx-b200"}
COLUMNS = (
    "model",
    "weights",
    "gpu",
    "gpus",
    "expert_parallel",
    "mean_batch",
    "context",
    "mean_output",
    "median_itl_ms",
)
_PROMPTS = 0.5  # of the output: with a larger batch a prompt comes with most iterations


class Row(NamedTuple):
    """A measured iteration of decode; `seconds` is what it took in the median."""

    model: str
    dtype: str
    gpu: str
    tp: int
    ep: int
    batch: int
    context: int
    output: float
    seconds: float


class Figures(NamedTuple):
    """Errors of the rows of a model on a machine as shares of the measured times."""

    model: str
    machine: str
    dtype: str
    rows: int
    mean: float
    median: float
    bias: float
    covered: float


class _Ran(NamedTuple):
    row: Row
    error: float
    held: bool


def read(path: str) -> list[Row]:
    """Return the rows of a file. Raises ConfigError for a column or a value that is missing."""
    lines = [line for line in read_text(path).splitlines() if not line.startswith("#")]
    found = []
    for number, line in enumerate(csv.DictReader(lines), start=2):
        where = f"{path}: row {number}"
        for name in COLUMNS:
            if not line.get(name):
                raise ConfigError(where, f"no {name}; expected the columns {', '.join(COLUMNS)}")
        if line["gpu"] not in CLUSTERS:
            raise ConfigError(
                where, expected_got(f"gpu: one of {', '.join(CLUSTERS)}", line["gpu"])
            )
        try:
            gpus, ep, batch, context = (int(line[key]) for key in COLUMNS[3:7])
            output, took = (float(line[key]) for key in COLUMNS[7:9])
        except ValueError as error:
            raise ConfigError(where, str(error)) from None
        row = Row(
            line["model"], line["weights"], line["gpu"], gpus, ep, batch, context, output, took
        )
        found.append(row._replace(seconds=took / 1e3))
    return found


def is_pure(row: Row) -> bool:
    """Return whether the median iteration of a row holds no prompt."""
    return row.batch <= _PROMPTS * row.output


def scenario_of(row: Row, stack: str = DEFAULT) -> Scenario:
    """Return the scenario of an iteration. Raises ConfigError where the plan is refused."""
    plan = InferencePlan(tp=row.tp, ep=row.ep, dtype=row.dtype)  # type: ignore[arg-type]
    workload = infer(row.model, plan, phase="decode", batch=row.batch, context=row.context)
    parts = cluster_parts(CLUSTERS[row.gpu], row.tp, workload.dtype, stack=stack)
    return Scenario(workload=Templates(workload=workload), **parts)


def judge(rows: Iterable[Row]) -> tuple[list[Figures], list[str]]:
    """Run rows and return their figures by model, machine and type, and who was refused and why."""
    groups: Mapping[tuple[str, str, str], list[_Ran]] = defaultdict(list)
    refused = []
    for row in rows:
        try:
            ran = _ran(row)
        except YantraError as error:
            refused.append(f"{row.model} on {row.tp} {row.gpu}, batch {row.batch}: {error}")
            continue
        groups[row.model, CLUSTERS[row.gpu], row.dtype].append(ran)
    found = [_figures(*key, some) for key, some in sorted(groups.items())]
    every = [one for some in groups.values() for one in some]
    return [*found, *([_figures("all rows", "", "", every)] if every else [])], refused


def _ran(row: Row) -> _Ran:
    result = simulate(scenario_of(row))
    seconds = float(result.finish_ns.max()) / 1e9
    within = interval(result)
    assert within is not None
    held = within.low * seconds <= row.seconds <= within.high * seconds
    return _Ran(row, seconds / row.seconds - 1.0, held)


def _figures(model: str, machine: str, dtype: str, ran: Sequence[_Ran]) -> Figures:
    errors = [one.error for one in ran]
    size = list(map(abs, errors))
    covered = fmean(one.held for one in ran)
    return Figures(
        model, machine, dtype, len(ran), fmean(size), median(size), fmean(errors), covered
    )


def record(found: Iterable[Figures], path: str = RECORD) -> None:
    """Write figures."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("# Decode with unknown, by python -m yantra.accuracy.inference ROWS --write\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Figures._fields)
        writer.writerows((*one[:4], *(f"{value:.3f}" for value in one[4:])) for one in found)


def recorded(path: str = RECORD) -> list[Figures]:
    """Return the figures of the last recorded run."""
    lines = [line for line in read_text(path).splitlines() if not line.startswith("#")]
    found = []
    for model, machine, dtype, rows, *shares in list(csv.reader(lines))[1:]:
        mean, middle, bias, covered = map(float, shares)
        found.append(Figures(model, machine, dtype, int(rows), mean, middle, bias, covered))
    return found


def table(found: Iterable[Figures]) -> list[str]:
    """Return figures as lines of Markdown."""
    lines = [
        "| decode of | machine | rows | mean | median | bias | in 90 % |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        row = (
            one.model,
            f"{one.machine} {one.dtype}".strip() or "-",
            str(one.rows),
            *cells(one.mean, one.median, one.bias, one.covered),
        )
        lines.append(f"| {' | '.join(row)} |")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Judge the rows of a file, and record the figures with --write."""
    files = [one for one in arguments if one != "--write"]
    if len(files) != 1:
        sys.stderr.write("usage: python -m yantra.accuracy.inference ROWS.csv [--write]\n")
        return 2
    found, refused = judge(row for row in read(files[0]) if is_pure(row))
    if "--write" in arguments:
        record(found)
    sys.stdout.write("\n".join([*table(found), *(f"* refused: {one}" for one in refused)]) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
