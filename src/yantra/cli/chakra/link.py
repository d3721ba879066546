"""`yantra chakra link`: the host trace and the device trace of a rank become one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from yantra.cli.command import WithExamples, json_option, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.tracing.pytorch.link.pairs import Pair
    from yantra.tracing.pytorch.linked import Linked


@click.command(
    cls=WithExamples,
    seldom=(
        "rank",
        "partial",
        "compat",
        "quiet",
    ),
    examples=[
        "yantra chakra link --host host.json --device device.json -o linked.json",
        "yantra chakra link --device trace.json.gz -o linked.json",
        "yantra chakra link --host 'host.{rank}.json' --device 'device.{rank}.json' \\\n"
        "    --to et -o job",
        "yantra chakra link --host host.json --device device.json -o linked.json --json",
    ],
)
@click.option("--host", "hosts", multiple=True, type=click.Path(), help="A host trace, if any.")
@click.option(
    "--device",
    "devices",
    multiple=True,
    type=click.Path(),
    required=True,
    help="Its device trace (Kineto).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    help="The file to write; with {rank} for several.",
)
@click.option(
    "--to",
    type=click.Choice(["json", "et"]),
    default="json",
    show_default=True,
    help="Write the linked trace, or convert it to a Chakra trace at once.",
)
@click.option("--rank", type=click.IntRange(0), help="The rank, if the trace does not state it.")
@click.option(
    "--partial", is_flag=True, help="Link two traces of one run that overlap only in part."
)
@click.option("--compat", type=click.Choice(["upstream"]), help="Write what upstream writes.")
@click.option("-q", "--quiet", is_flag=True, help="Print warnings only.")
@json_option
def command(
    hosts: tuple[str, ...],
    devices: tuple[str, ...],
    output: str,
    to: str,
    rank: int | None,
    partial: bool,
    compat: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Join the traces of PyTorch's execution trace observer and its profiler.

    Give --host and --device once for each rank, or once with {rank} in the file's name. Without
    --host, the operators come from the profiler's trace alone.
    """
    from yantra.base.errors import ConfigError
    from yantra.tracing.pytorch.link.pairs import pairs

    found = pairs(hosts, devices, rank)
    if compat and to != "json":
        raise ConfigError("--compat", "links to JSON; convert the result with --compat too")
    if compat and not hosts:
        raise ConfigError("--compat", "upstream links pairs; give the host trace with --host")
    quiet |= as_json
    how = _How(quiet, partial, _ranks_of_names([pair.device for pair in found]))
    if compat:
        form: object = [{"output": name} for name in _upstream(found, output)]
    elif to == "et":
        form = _convert(found, output, how)
    else:
        form = _link(found, output, how)
    if as_json:
        print_json(form)
    return 0


class _How(NamedTuple):
    """How to link and report."""

    quiet: bool
    partial: bool
    unsaid: dict[str, int]  # ranks of device traces that state none


def _ranks_of_names(devices: list[str]) -> dict[str, int]:
    from yantra.tracing.pytorch.ranks import of_names

    ranks = of_names(devices)
    return {} if ranks is None else dict(zip(devices, ranks, strict=True))


def _link(found: Sequence[Pair], output: str, how: _How) -> list[dict[str, Any]]:
    from yantra.base.errors import ConfigError
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch import linked_file
    from yantra.tracing.pytorch.link.pairs import output_name

    forms: list[dict[str, Any]] = []
    with progress("linking", counted=True) as report:
        for done, pair in enumerate(found):
            if report:
                report(done, len(found))
            linked = _linked(pair, how)
            name = output_name(output, pair, linked.rank, len(found) > 1)
            if any(form["output"] == name for form in forms):
                raise ConfigError(pair.device, f"is of rank {linked.rank}, like an earlier pair")
            linked_file.write(linked, name)
            about = {"output": name, "rank": linked.rank, "world_size": linked.world_size}
            forms.append(about | linked.report.as_dict())
    return forms


def _convert(found: Sequence[Pair], output: str, how: _How) -> dict[str, Any]:
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch.files import convert_sources
    from yantra.tracing.pytorch.sources import naming_files

    told: set[Pair] = set()  # pairs are linked twice if not all fit memory
    files: dict[int, str] = {}

    def source(pair: Pair) -> Callable[[], Linked]:
        def linked() -> Linked:
            known = pair in told
            told.add(pair)
            made = _linked(pair, how, known)
            files[made.rank] = pair.device
            return made

        return linked

    with progress("linking and converting", counted=True) as tell, naming_files(files):
        report = convert_sources([source(pair) for pair in found], output, progress=tell)
    warn([*report.remarks, *report.problems])
    if not how.quiet:
        sys.stderr.write(report.summary())
    return {"output": output} | report.as_dict()


def _upstream(found: Sequence[Pair], output: str) -> list[str]:
    from yantra.cli.progress import progress
    from yantra.tracing.pytorch.link.pairs import output_name
    from yantra.tracing.pytorch.upstream.link import write_linked

    names = []
    with progress("linking", counted=True) as report:
        for place, pair in enumerate(found):
            if report:
                report(place, len(found))
            rank = place if pair.rank is None else pair.rank
            names.append(output_name(output, pair, rank, len(found) > 1))
            if pair.host is not None:
                write_linked(pair.host, pair.device, names[-1])
    return names


def _linked(pair: Pair, how: _How, told: bool = False) -> Linked:
    from yantra.cli import warn
    from yantra.tracing.pytorch.link import link_files, summary
    from yantra.tracing.sources import linked_job

    unsaid = how.unsaid.get(pair.device, 0)
    if pair.host is None and linked_job.is_one(pair.device):
        linked = linked_job.link_one(pair.device, pair.rank)
    else:
        linked = link_files(*pair, partial=how.partial, unsaid=unsaid)
    if told:
        return linked
    if not how.quiet:
        sys.stderr.write("".join(f"{line}\n" for line in summary.lines(linked)))
    warn([f"rank {linked.rank}: {text}" for text in summary.warnings(linked.report)])
    return linked
