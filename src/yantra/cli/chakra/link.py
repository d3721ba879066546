"""`yantra chakra link`: the host trace and the device trace of a rank become one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.chakra.pytorch.link.pairs import Pair
    from yantra.chakra.pytorch.linked import Linked


@click.command()
@click.option("--host", "hosts", multiple=True, required=True, help="A host trace.")
@click.option("--device", "devices", multiple=True, required=True, help="Its device trace.")
@click.option("-o", "--output", required=True, help="The file to write; with {rank} for several.")
@click.option(
    "--to",
    type=click.Choice(["json", "et"]),
    default="json",
    show_default=True,
    help="Write the linked trace, or convert it to a Chakra trace at once.",
)
@click.option("--rank", type=click.IntRange(0), help="The rank, where the trace does not tell it.")
@click.option("--compat", type=click.Choice(["upstream"]), help="Write what upstream writes.")
@click.option("-q", "--quiet", is_flag=True, help="Print warnings only.")
def command(
    hosts: tuple[str, ...],
    devices: tuple[str, ...],
    output: str,
    to: str,
    rank: int | None,
    compat: str | None,
    quiet: bool,
) -> int:
    """Join the traces of PyTorch's execution trace observer and its profiler.

    Give --host and --device once for each rank, or once with {rank} in the file's name.
    """
    from yantra.chakra.pytorch.link.pairs import pairs
    from yantra.errors import ConfigError

    found = pairs(hosts, devices, rank)
    if compat:
        if to != "json":
            raise ConfigError("--compat", "links to JSON; convert the result with --compat too")
        return _upstream(found, output)
    if to == "et":
        return _convert(found, output, quiet)
    return _link(found, output, quiet)


def _link(found: Sequence[Pair], output: str, quiet: bool) -> int:
    from yantra.chakra.pytorch import linked_file
    from yantra.chakra.pytorch.link.pairs import output_name

    for pair in found:
        linked = _linked(pair, quiet)
        linked_file.write(linked, output_name(output, pair, linked.rank, len(found) > 1))
    return 0


def _convert(found: Sequence[Pair], output: str, quiet: bool) -> int:
    from yantra.chakra.pytorch.files import convert_sources
    from yantra.cli import warn

    told: set[Pair] = set()  # a pair is linked twice when not all fit into memory

    def source(pair: Pair) -> Callable[[], Linked]:
        def linked() -> Linked:
            known = pair in told
            told.add(pair)
            return _linked(pair, quiet, known)

        return linked

    report = convert_sources([source(pair) for pair in found], output)
    warn(report.problems)
    if not quiet:
        sys.stderr.write(report.summary())
    return 0


def _upstream(found: Sequence[Pair], output: str) -> int:
    from yantra.chakra.pytorch.link.pairs import output_name
    from yantra.chakra.pytorch.upstream.link import write_linked

    for place, pair in enumerate(found):
        rank = place if pair.rank is None else pair.rank
        name = output_name(output, pair, rank, len(found) > 1)
        write_linked(pair.host, pair.device, name)
    return 0


def _linked(pair: Pair, quiet: bool, told: bool = False) -> Linked:
    """Link one pair and tell what was found, unless that has been told."""
    from yantra.chakra.pytorch.link import link_files, summary
    from yantra.cli import warn

    linked = link_files(*pair)
    if told:
        return linked
    if not quiet:
        sys.stderr.write("".join(f"{line}\n" for line in summary.lines(linked)))
    warn([f"rank {linked.rank}: {text}" for text in summary.warnings(linked.report)])
    return linked
