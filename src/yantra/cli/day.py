"""`yantra day`: a scheduler's day on a cluster, from a public trace of jobs."""

from __future__ import annotations

import sys
from typing import Any

import click

from yantra.base.errors import ConfigError, expected_got, hint
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.model_options import cluster_option

_SETTINGS = ("hours", "after", "host_gpus", "pod", "oversubscription", "checkpoint", "restart")
_WHOLE = ("host_gpus", "pod")
_TIMES = ("checkpoint", "restart")


@click.command(
    cls=WithExamples,
    examples=[
        "yantra day jobs.csv --cluster hgx-h100 --gpus 64 --policy backfill",
        "yantra day jobs.csv --cluster hgx-b200 --gpus 64 --quota a=32 --job job.yaml \\\n"
        "    --set pod=2 --set oversubscription=2 --json",
    ],
)
@click.argument("trace", type=click.Path())
@cluster_option(required=True)
@click.option("--gpus", type=click.IntRange(min=1), required=True, help="Of the cluster.")
@click.option(
    "--policy",
    default="backfill",
    show_default=True,
    help="fifo; backfill, where later jobs pass that delay nobody; or shortest.",
)
@click.option(
    "--job",
    type=click.Path(),
    help="A job file, as which jobs of several hosts take their interference.",
)
@click.option(
    "--quota",
    "quotas",
    multiple=True,
    metavar="OWNER=GPUS",
    help="Within it an owner's jobs preempt those beyond. May be repeated.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="hours=24 of submissions, after=0 others; host_gpus=8; pod=32 hosts of a switch, with "
    "oversubscription=4 of its uplinks; checkpoint='30 min' and restart='10 min' of preempted "
    "jobs. May be repeated.",
)
@json_option
def command(
    trace: str,
    cluster: str,
    gpus: int,
    policy: str,
    job: str | None,
    quotas: tuple[str, ...],
    settings: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say who waits, what is used and what is useful on a cluster in a trace's day.

    TRACE has the columns of Helios, Acme or Alibaba 2023, or is Philly's JSON.
    """
    from yantra.cli.progress import progress
    from yantra.lives.days.day import day
    from yantra.lives.days.words import as_dict, lines
    from yantra.lives.settings import pairs_of

    said = _settings(pairs_of(settings))
    known = {owner: _whole("--quota", text) for owner, text in pairs_of(quotas, "--quota").items()}
    with progress("jobs of the day"):
        found = day(trace, cluster=cluster, gpus=gpus, policy=policy, job=job, quotas=known, **said)
    hosts = said.get("host_gpus", 8)
    if as_json:
        print_json(as_dict(found, hosts))
    else:
        sys.stdout.write("\n".join(lines(found, hosts)) + "\n")
    return 0


def _settings(pairs: dict[str, str]) -> dict[str, Any]:
    from yantra.base.units import parse

    found: dict[str, Any] = {}
    for name, text in pairs.items():
        where = f"--set {name}"
        if name not in _SETTINGS:
            problem = f"{name}: nothing has this name; expected one of {', '.join(_SETTINGS)}"
            raise ConfigError("--set", problem + hint(name, _SETTINGS))
        if name in _TIMES:
            found[name] = parse(text, "time", "s", where)
        elif name in _WHOLE:
            found[name] = _whole(where, text)
        else:
            try:
                found[name] = float(text)
            except ValueError:
                raise ConfigError(where, expected_got("a number", text)) from None
    return found


def _whole(where: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ConfigError(where, expected_got("a whole number", text))
    return int(text)
