"""`yantra synth sample`: jobs drawn by rules."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra synth sample jobs.ysyn --set layers=96,tp=8 -n 20 -o drawn",
        "yantra synth sample step.ysyn --like step.yw -o drawn --json",
    ],
)
@click.argument("rules", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The folder to write.")
@click.option(
    "--like",
    type=click.Path(),
    metavar="JOB",
    help="Take the settings of this job: a .yw, or traces by {rank}.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="layers, tp, cp, pp, dp, ep, micro_batch, micro_batches, sequence, ...",
)
@click.option("-n", "count", type=click.IntRange(1, 100_000), default=1, help="How many jobs.")
@click.option("--seed", type=int, default=0, show_default=True, help="What chance begins with.")
@json_option
def command(
    rules: str,
    output: str,
    like: str | None,
    settings: tuple[str, ...],
    count: int,
    seed: int,
    as_json: bool,
) -> None:
    """Draw jobs by RULES (.ysyn): workload files, one template a stage of the pipeline.

    Without --like, each setting is that of one of the jobs that were fitted.
    """
    from yantra.synth.files import load
    from yantra.synth.sample import like_job, sample, write_samples

    known = load(rules)
    drawn = sample(known, settings, count, seed, None if like is None else like_job(like))
    written = write_samples(drawn, output)
    if as_json:
        print_json([{"path": path, "settings": of._asdict()} for path, of in written])
        return
    for path, of in written[:4]:
        said = ", ".join(f"{name} {value}" for name, value in of._asdict().items() if value != 1)
        click.echo(f"{path}: {of.plan.ranks} ranks; {said}")
    if len(written) > 4:
        click.echo(f"and {len(written) - 4} more")
