"""`yantra explore run`: runs a study, keeps what is finished, and shows what is on the front."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import backends
from yantra.cli.plugin_option import option as plugin_option


@click.command(
    cls=WithExamples,
    seldom=(
        "backend",
        "workers",
    ),
    examples=[
        "yantra explore run study.yaml -o study",
        "yantra explore run study.yaml -o again --workers 2 --json",
        "yantra explore run study.yaml -o third --backend local",
    ],
)
@click.argument("study", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="Folder of the trials.")
@click.option("--resume", is_flag=True, help="Continue with the trials in the folder.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Processes that run at a time.",
)
@click.option(
    "--backend",
    shell_complete=backends,
    default="local",
    show_default=True,
    help="Where trials run: local (processes), ray (a cluster of machines), or a file.",
)
@click.option(
    "--simulate",
    "simulated",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    metavar="N",
    help="Simulate the best N trials of the front, exactly.",
)
@plugin_option
@json_option
def command(
    study: str,
    output: str,
    resume: bool,
    workers: int,
    backend: str,
    simulated: int,
    as_json: bool,
) -> int:
    """Find the best plan for each cluster, size and scale of STUDY, and the Pareto front.

    Finished trials are lines of trials.jsonl. Workers, backends and interruptions do not change the
    front; its best trials are simulated. Status 3: no trial is feasible.
    """
    from json import dumps
    from os import path as paths

    from yantra.base.output import write_text
    from yantra.cli.progress import progress
    from yantra.explore.study.confirmed import confirm, words
    from yantra.explore.study.study import check_feasible, run_study, table_of
    from yantra.explore.study.study_file import read_study

    read = read_study(study)
    with progress("judging trials", counted=True) as report:
        finished = run_study(
            read, output, resume=resume, workers=workers, backend=backend, tell=report
        )
    with progress("simulating trials", counted=True) as report:
        exact = confirm(read, finished, simulated, report)
    form = {"objectives": list(read.objectives), "front": finished.front}
    form["simulated"] = [{**one._asdict(), "off": one.off} for one in exact]
    form["trials"] = finished.trials
    write_text(paths.join(output, "front.json"), dumps(form, indent=1) + "\n")
    if as_json:
        print_json(form)
    else:
        sys.stdout.write("\n".join((*table_of(read, finished), *words(exact))) + "\n")
    check_feasible(read, finished)
    return 0
