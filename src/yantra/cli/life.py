"""`yantra life`: goodput and cost of a training job's days."""

from __future__ import annotations

import sys

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.model_options import cluster_option


@click.command(
    cls=WithExamples,
    examples=[
        "yantra life job.yaml --cluster hgx-b200 --gpus 64 --days 54 --set lives=50",
        "yantra life job.yaml --cluster hgx-b200 --gpus 64 --days 54 --set lives=50 \\\n"
        "    --set spares=2 --set checkpoint=memory --set price='2.50 USD/h' --json \\\n"
        "    --report life.html",
    ],
)
@click.argument("job", type=click.Path())
@cluster_option(required=True)
@click.option("--gpus", type=click.IntRange(min=1), required=True, help="Of the job.")
@click.option("--days", type=float, required=True, help="How long a life is.")
@click.option("--stack", help="At which speeds; a name of yantra stack.")
@click.option(
    "--rates",
    default="fleets",
    show_default=True,
    help="How often parts fail: fleets, llama3, or a file like those.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="checkpoint=async, sync, memory or none; interval='10 min'; storage='2 TB/s' of the whole "
    "cluster; restart='10 min'; spares=64 hosts; queue='2 h' for a host of the scheduler; "
    "elastic=on; in_place=off; evict=off; notice='10 min' of slow ranks; foreseen=0.3 of crashes "
    "with move='20 s'; lives=1000; seed=1; price='2.50 USD/h', or capital='30000 USD' with years, "
    "utilisation, pue, electricity and running; network_price, storage_price; "
    "grid='350 g/kWh'. May be repeated.",
)
@click.option("--report", type=click.Path(), help="Write a report as one HTML file.")
@json_option
def command(
    job: str,
    cluster: str,
    gpus: int,
    days: float,
    stack: str | None,
    rates: str,
    settings: tuple[str, ...],
    report: str | None,
    as_json: bool,
) -> int:
    """Say how much of a training job's days is useful on a cluster that fails, and what they cost.

    JOB is a job file, or one of Megatron-LM, NeMo, TorchTitan or DeepSpeed.
    """
    from yantra.cli.progress import progress
    from yantra.lives.life import life
    from yantra.lives.settings import pairs_of
    from yantra.lives.words import as_dict, lines

    asked = pairs_of(settings)
    with progress("lives"):
        said = life(job, cluster=cluster, gpus=gpus, days=days, stack=stack, rates=rates, **asked)
        form, text = as_dict(said), "\n".join(lines(said)) + "\n"
    if report is not None:
        said.to_report(report)
    if as_json:
        print_json(form)
    else:
        sys.stdout.write(text)
    return 0
