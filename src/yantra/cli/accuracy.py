"""`yantra accuracy`: how far predictions are from published measurements."""

from __future__ import annotations

import json
import sys

import click

from yantra.cli.command import WithExamples, json_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra accuracy --last",
        "yantra accuracy --data llama3_paper",
        "yantra accuracy --last --json",
    ],
)
@click.option(
    "--last", is_flag=True, help="Print the figures of the last recorded run; runs nothing."
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Of the largest data set (720 steps), run the plans of every Nth job only.",
)
@click.option(
    "--data",
    help="Run one data set alone, by its name in the table; fits use recorded runs of the others.",
)
@json_option
def command(last: bool, every: int, data: str | None, as_json: bool) -> int:
    """Predict 902 measured training steps and say how far off we are; takes minutes.

    By data set: errors with measured kernels alone, with factors of other models, and of other
    frameworks; the share within the 90 % interval; the ranking of plans; peak memory. Then the
    default, stack unknown, without each step's framework.
    """
    from yantra.accuracy import default
    from yantra.accuracy.memory import peaks
    from yantra.accuracy.suite import (
        as_dict,
        predicted_now,
        ran_now,
        report,
        table,
        with_recorded,
        with_recorded_runs,
    )
    from yantra.accuracy.suite import last as last_report
    from yantra.cli.progress import progress

    if last:
        found, ours = last_report(), default.recorded()
    else:
        with progress("predicting") as told:
            parts, refused = predicted_now(every, told or (lambda *_: None), data)
        memory = peaks(one.row for one in parts)
        judged = with_recorded(parts, data) if data else parts
        with progress("with factors") as told:
            runs = ran_now(judged, told or (lambda *_: None), data)
        runs = with_recorded_runs(runs) if data else runs
        with progress("with the default") as told:
            ours = default.default_now([one.row for one in parts], told or (lambda *_: None))
        found = report(judged, runs, refused, memory, data)
    judged_default = default.judge(ours)
    if as_json:
        form = as_dict(found) | {"default": default.as_dict(judged_default)}
        sys.stdout.write(json.dumps(form, indent=1) + "\n")
    else:
        lines = [*table(found), "", *default.table(judged_default)]
        sys.stdout.write("\n".join(lines) + "\n")
    return 0
