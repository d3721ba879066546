"""`yantra synth fit`: what jobs have in common."""

from __future__ import annotations

import click

from yantra.cli.command import WithExamples, json_option, print_json


@click.command(
    cls=WithExamples,
    examples=[
        "yantra synth fit jobs -o jobs.ysyn",
        "yantra synth fit step.yw -o step.ysyn --json",
    ],
)
@click.argument("jobs", type=click.Path())
@click.option("-o", "--output", type=click.Path(), required=True, help="The rules (.ysyn).")
@click.option(
    "--tier",
    type=click.Choice(["rules", "grammar", "neural"]),
    default="rules",
    show_default=True,
    help="Work and calls poured anew, or by the jobs' motifs.",
)
@json_option
def command(jobs: str, output: str, tier: str, as_json: bool) -> None:
    """Find what the jobs of the folder JOBS have in common.

    A job is a workload file (.yw), or a folder of Chakra traces with settings.json. The file is
    JSON: read it before you give it away.
    """
    from yantra.base.text import count
    from yantra.synth.files import save
    from yantra.synth.observe import observe
    from yantra.synth.tiers import fit_tier

    seen = observe(jobs)
    rules = fit_tier(seen, tier)
    save(rules, output)
    worst = max((law.left for one in rules.components for law in one.work.values()), default=0.0)
    if as_json:
        sizes = [one.jobs for one in rules.components]
        print_json({"output": output, "tier": tier, "components": sizes, "worst_left": worst})
        return
    kinds = count(len(rules.components), "kind")
    click.echo(f"{count(len(seen), 'job')}, {kinds}; work within {worst:.1%}")
    click.echo(f"wrote {output}")
