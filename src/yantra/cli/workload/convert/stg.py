"""`yantra workload convert stg`: models of STG and STAGE, under their flags.

STG's command line works: --output_dir and --output_name write its traces and groups. Flags without
effect are refused. Source: astra-sim/symbolic_tensor_graph, main.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from yantra.base.errors import ConfigError, UnsupportedError, expected_got
from yantra.base.whole_numbers import whole
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.typed import of_file

if TYPE_CHECKING:
    from yantra.workloads.templates import Workload

_TYPES = ("gpt", "llama", "dense", "moe", "prefilling", "decoding")
_RANKS = {
    "dp": "Data-parallel ranks.",
    "tp": "Tensor-parallel ranks.",
    "sp": "Context-parallel ranks (the symbol cp; sp of prefilling and decoding).",
    "ep": "Expert-parallel ranks, on top of the others; more tensor-parallel ones without experts.",
    "pp": "Pipeline stages.",
}
_SIZES = {
    "num_stacks": "Layers (80).",
    "batch": "Sequences of a step, over all ranks (64).",
    "micro_batch": "Sequences of a micro-batch, over all ranks (the batch).",
    "seq": "Sequence length (1024).",
    "dmodel": "Hidden size (8192).",
    "dff": "Inner size of the feed-forward network (28672).",
    "head": "Attention heads (64).",
    "kvhead": "Key-value heads (8).",
    "dvocal": "Vocabulary (32000).",
    "experts": "Experts (8).",
    "kexperts": "Experts of a token (2).",
    "din": "Rows of the embedding of prefilling and decoding (dvocal).",
    "dout": "Columns of their head (dvocal).",
    "layer_each_stage": "Layers of a slice of theirs (equal slices).",
}
_SWITCHES = {
    "weight_sharded": "Shard weights and gradients of layers over dp (0).",
    "tpsp": "Split the sequence over tp outside of matrix products (1).",
    "mixed_precision": "In units stg: llama is a llama, and the head is on the last stage (0).",
}

_Command = Callable[..., int]
_WRITTEN = "v0.0.4"
"""The version of Chakra's schema that upstream writes, whatever it is told."""


def _spellings(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}")))


def _flags(function: _Command) -> _Command:
    for table, type_, metavar in (
        (_SWITCHES, click.BOOL, "0|1"),
        (_SIZES, click.INT, "N"),
        (_RANKS, click.INT, "N"),
    ):
        for name, text in reversed(table.items()):
            option = click.option(*_spellings(name), name, type=type_, metavar=metavar, help=text)
            function = option(function)
    return function


@click.command(
    cls=WithExamples,
    seldom=(
        "dmodel",
        "dff",
        "head",
        "kvhead",
        "dvocal",
        "experts",
        "kexperts",
        "din",
        "dout",
        "layer_each_stage",
        "weight_sharded",
        "tpsp",
        "mixed_precision",
        "symbol",
        "units",
        "dtype",
        "gradient_dtype",
        "sheets",
        "assembly",
    ),
    examples=[
        "yantra workload convert stg --model_type llama --dp 2 --tp 4 --pp 2 \\\n"
        "    --num_stacks 4 --batch 64 --micro_batch 8 --dmodel 4096 --dff 11008 \\\n"
        "    --head 32 --kvhead 32 -o llama.yw",
        "yantra workload convert stg --output_dir et --output_name w.%d.et \\\n"
        "    --model_type gpt --dp 2 --tp 2 --num_stacks 4 --batch 8",
        "yantra workload convert stg --assembly mine.yaml --dp 4 \\\n"
        "    --num_stacks 2 --batch 8 -o mine.yw --json",
    ],
)
@click.option("-o", "--output", type=click.Path(), help="The workload file (.yw).")
@click.option(
    "--output-dir",
    "--output_dir",
    type=click.Path(),
    help="A folder for traces in place of -o, as STG writes them.",
)
@click.option(
    "--output-name",
    "--output_name",
    metavar="NAME.%d.et",
    help="Names of these traces; their groups are in NAME.json.",
)
@click.option("--comm-group-file", "--comm_group_file", hidden=True)
@click.option("--activation-recompute", "--activation_recompute", type=click.BOOL, hidden=True)
@click.option("--chakra-schema-version", "--chakra_schema_version", hidden=True)
@click.option("--print-gpu-vram", "--print_gpu_vram", type=click.BOOL, hidden=True)
@click.option(
    "--model-type",
    "--model_type",
    "--templates",
    "model_type",
    type=click.Choice(_TYPES),
    metavar="TYPE",
    help=f"What is made: {', '.join(_TYPES)} (dense, which is llama).",
)
@_flags
@click.option(
    "--sheets",
    type=click.Path(),
    help="A checkout of STG or STAGE, or a folder of sheets; the built-in modules if left out.",
)
@click.option("--assembly", type=click.Path(), help="A file that connects sheets of your own.")
@click.option("--symbol", multiple=True, metavar="NAME=N", help="Value of a symbol of your sheets.")
@click.option(
    "--units",
    type=click.Choice(["yantra", "stg"]),
    help="FLOP and bytes (yantra), or what upstream counts: multiply-accumulates and elements; by "
    "default yantra for -o, stg for --output-dir.",
)
@click.option("--dtype", help="Of weights and activations (bf16).")
@click.option("--gradient-dtype", help="Of gradients of weights (fp32).")
@json_option
def command(
    output: str | None,
    output_dir: str | None,
    output_name: str | None,
    comm_group_file: str | None,
    activation_recompute: bool | None,
    chakra_schema_version: str | None,
    print_gpu_vram: bool | None,
    sheets: str | None,
    assembly: str | None,
    symbol: tuple[str, ...],
    as_json: bool,
    **flags: Any,
) -> int:
    """Make a workload file of a model of STG or STAGE, or its traces."""
    from yantra.cli.workload.convert import save
    from yantra.workloads.importers.stg import Settings, from_stg

    _refuse(activation_recompute, chakra_schema_version, print_gpu_vram)
    names = _names(output, output_dir, output_name, comm_group_file)
    if flags.get("micro_batch") == -1:
        flags["micro_batch"] = None
    flags["units"] = flags["units"] or ("yantra" if names is None else "stg")
    given = {name: value for name, value in flags.items() if value is not None}
    if assembly is not None and "model_type" in given:
        raise click.UsageError("expected either --model-type or --assembly")
    settings = Settings(**given, symbols=_symbols(symbol))
    with of_file(assembly):
        workload = from_stg(settings, sheets, assembly)
    if names is None:
        assert output is not None
        save(workload, output, as_json)
        return 0
    _write_traces(workload, names, as_json)
    return 0


class _Names(NamedTuple):
    """Folder, name pattern and group file of traces."""

    folder: str
    pattern: str
    groups: str

    def of(self, rank: int) -> str:
        return self.pattern.replace("%d", str(rank))


def _names(
    output: str | None, folder: str | None, name: str | None, groups: str | None
) -> _Names | None:
    if output is not None:
        for flag, value in (("--output_dir", folder), ("--output_name", name)):
            if value is not None:
                raise ConfigError(flag, "goes with traces, and -o asks for a workload file")
        return None
    for flag, value in (("--output_dir", folder), ("--output_name", name)):
        if value is None:
            both = "-o FILE.yw, or both --output_dir and --output_name"
            raise ConfigError(flag, f"expected {both}")
    assert folder is not None and name is not None
    pattern = name if "%d" in name else f"{name}.%d.et"
    own = pattern.replace(".%d", "").replace(".et", ".json")
    for flag, text in (("--output_name", pattern), ("--comm_group_file", groups or own)):
        if os.path.basename(text) != text or text.replace("%d", "").count("%"):
            raise ConfigError(flag, expected_got("a name such as workload.%d.et", text))
    return _Names(folder, pattern, groups or own)


def _refuse(recompute: bool | None, schema: str | None, vram: bool | None) -> None:
    if recompute:
        problem = "nothing is recomputed: upstream reads the flag and does nothing; leave it out"
        raise UnsupportedError(f"--activation_recompute: {problem}")
    if schema not in (None, _WRITTEN):
        problem = f"expected {_WRITTEN}, which alone is written, got '{schema}'"
        more = "; yantra chakra rewrite makes JSON of traces" if schema == "json" else ""
        raise UnsupportedError(f"--chakra_schema_version: {problem}{more}")
    if vram:
        problem = "upstream's sum of all tensors of a rank is not made"
        todo = "yantra workload train prints what a step needs, over time"
        raise UnsupportedError(f"--print_gpu_vram: {problem}; {todo}")


def _write_traces(workload: Workload, names: _Names, as_json: bool) -> None:
    from yantra.base.text import count
    from yantra.cli import warn
    from yantra.cli.progress import progress
    from yantra.workloads.templates.expand import expand

    warn(workload.sections.get("notes", []))
    with progress("writing") as report:
        expand(
            workload, names.folder, progress=report, reader="astra-sim",
            name=names.of, groups=names.groups,
        )  # fmt: skip
    if as_json:
        made = {"output_dir": names.folder, "output_name": names.pattern}
        print_json({**made, "groups": names.groups, "ranks": workload.ranks})
        return
    told = f"{count(workload.ranks, 'trace')} and {names.groups}"
    click.echo(f"wrote {told} into {names.folder}")


def _symbols(texts: tuple[str, ...]) -> dict[str, int]:
    symbols = {}
    for text in texts:
        name, _, digits = text.partition("=")
        number = whole(digits)
        if not name.isidentifier() or number is None:
            raise ConfigError("--symbol", f"expected NAME=NUMBER, got '{text}'")
        symbols[name] = number
    return symbols
