"""`yantra chakra convert`: one file per source."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import click

from yantra.cli.group import Commands


class _Sources(Commands):
    package = "yantra.cli.chakra.convert"
    known: ClassVar = {
        "pytorch": "Linked PyTorch traces, or host traces alone.",
        "profile": "Profiles of JAX (xplane), Nsight Systems or rocprofv3.",
        "text": "Text workloads of ASTRA-sim 1.0.",
        "msccl": "MSCCL programs (XML) and plans of MSCCL++ (JSON).",
    }

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """A file in place of a source is recognised by its content."""
        if args and args[0] not in self.known and _is_file(args[0]):
            from yantra.tracing.sources import source_of

            args = [source_of(args[0]), *args]
        return super().resolve_command(ctx, args)


def _is_file(name: str) -> bool:
    return os.path.isfile(name) or "{rank}" in name


@click.command(
    cls=_Sources,
    examples=[
        "yantra chakra convert pytorch linked.0.json linked.1.json -o job",
        "yantra chakra convert host0.xplane.pb -o 'job.{rank}.et'",
        "yantra chakra convert text vgg16.txt --dims 4x4 -o vgg16",
    ],
)
def command() -> None:
    """Make Chakra traces from something else; a recording's source may be left out."""
