"""`yantra workload convert stg`: models of STG and STAGE, under the names of their flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples, json_option

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
    examples=[
        "yantra workload convert stg --model_type llama --dp 2 --tp 4 --pp 2 \\\n"
        "    --num_stacks 4 --batch 64 --micro_batch 8 --dmodel 4096 --dff 11008 \\\n"
        "    --head 32 --kvhead 32 -o llama.yw",
        "yantra workload convert stg --assembly mine.yaml --dp 4 \\\n"
        "    --num_stacks 2 --batch 8 -o mine.yw --json",
    ],
)
@click.option("-o", "--output", type=click.Path(), required=True, help="The workload file (.yw).")
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
    default="yantra",
    show_default=True,
    help="FLOP and bytes, or what upstream counts: multiply-accumulates and elements.",
)
@click.option("--dtype", help="Of weights and activations (bf16).")
@click.option("--gradient-dtype", help="Of gradients of weights (fp32).")
@json_option("Print what was written as JSON.")
def command(
    output: str,
    sheets: str | None,
    assembly: str | None,
    symbol: tuple[str, ...],
    as_json: bool,
    **flags: Any,
) -> int:
    """Make a workload file of a model of STG or STAGE."""
    from yantra.cli.workload.convert import save
    from yantra.workloads.importers.stg import Settings, from_stg

    given = {name: value for name, value in flags.items() if value is not None}
    if assembly is not None and "model_type" in given:
        raise click.UsageError("expected either --model-type or --assembly")
    settings = Settings(**given, symbols=_symbols(symbol))
    save(from_stg(settings, sheets, assembly), output, as_json)
    return 0


def _symbols(texts: tuple[str, ...]) -> dict[str, int]:
    symbols = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name.isidentifier() or not (number.isascii() and number.isdigit()):
            raise ConfigError("--symbol", f"expected NAME=NUMBER, got '{text}'")
        symbols[name] = int(number)
    return symbols
