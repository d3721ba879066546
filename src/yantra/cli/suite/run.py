"""`yantra suite run`: clusters ranked by a suite; communication replayed on this machine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.complete import clusters as cluster_names

if TYPE_CHECKING:
    from yantra.suites.replay import Replay
    from yantra.suites.run import Ranking


@click.command(
    cls=WithExamples,
    examples=[
        "yantra suite run suite.json --cluster hgx-h100 --cluster mi300x --json",
        "yantra suite run suite.json --cluster hgx-h100 --report page.html",
    ],
)
@click.argument("suite", type=click.Path())
@click.option(
    "--cluster", "clusters", multiple=True, metavar="NAME", shell_complete=cluster_names,
    help="A named cluster, or its file; may be repeated.",
)  # fmt: skip
@click.option("--report", type=click.Path(), help="Write a page that compares them (HTML).")
@click.option(
    "--replay", type=click.Choice(["gloo", "nccl"]),
    help="Replay its communication on this machine, too.",
)  # fmt: skip
@json_option
def command(
    suite: str, clusters: tuple[str, ...], report: str | None, replay: str | None, as_json: bool
) -> None:
    """Run SUITE on clusters and rank them by the weighted geometric mean of its times."""
    from yantra.cli.progress import progress
    from yantra.suites.choose import read
    from yantra.suites.page import write_page
    from yantra.suites.run import run_suite

    if not clusters and replay is None:
        raise click.UsageError("expected --cluster NAME, one or more, or --replay gloo")
    if report and not clusters:
        raise click.UsageError("--report goes with --cluster")
    chosen = read(suite)
    replayed: list[Replay] = []
    if replay is not None:
        from yantra.suites.replay import replay_suite

        with progress("replaying", counted=True) as tell:
            replayed = replay_suite(chosen, replay, tell)
    ranking = None
    if clusters:
        with progress("simulating", counted=True) as tell:
            ranking = run_suite(chosen, clusters, tell)
        if report:
            write_page(chosen, ranking, report)
    if as_json:
        found = {} if ranking is None else ranking.as_dict()
        print_json(found | {"replayed": [one._asdict() for one in replayed]})
        return
    lines = ([] if ranking is None else _ranking(ranking)) + (
        _replayed(replayed) if replayed else []
    )
    sys.stdout.write("\n".join(lines) + "\n")


def _ranking(ranking: Ranking) -> list[str]:
    from yantra.base.text import count, table
    from yantra.base.units import format_time
    from yantra.cli import warn
    from yantra.suites.page import sure_text

    warn([f"{name} is left out: {why}" for name, why in ranking.refused.items()])
    warn(ranking.warnings)
    for one in ranking.clusters:
        if one.too_large:
            some = count(len(one.too_large), "trace")
            warn([f"{one.cluster}: {some} beyond its memory, run all the same"])
    head = ("", "mean time", "ratio", "before the next")
    rows = [
        (f"{place} {one.cluster}", format_time(one.ns), f"{one.ratio:.2f}",
         sure_text(one))
        for place, one in enumerate(ranking.clusters, 1)
    ]  # fmt: skip
    return table(head, rows, left=1)


def _replayed(found: list[Replay]) -> list[str]:
    from yantra.base.text import table
    from yantra.base.units import format_time

    rows = [(one.name, str(one.ranks), str(one.calls), format_time(one.ns))
            for one in found if not one.problem]  # fmt: skip
    lines = table(("replayed", "ranks", "calls", "a rank"), rows, left=1) if rows else []
    return lines + [f"left out: {one.name}: {one.problem}" for one in found if one.problem]
