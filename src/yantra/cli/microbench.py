"""`yantra microbench`: measures kernels on this machine's GPU, for `yantra calibrate`."""

from __future__ import annotations

import json
import sys
from os.path import isdir

import click

from yantra.base.errors import ConfigError
from yantra.cli.command import WithExamples, json_option

_ELSEWHERE = "or write the script with --write-script FILE and run it on a machine that has one"


@click.command(
    cls=WithExamples,
    limited=False,
    examples=[
        "yantra microbench -o node.csv",
        "yantra microbench --write-script microbench.py --json",
        "yantra microbench --device cpu -o cpu.csv --seconds 10",
        "yantra calibrate node.csv --device my-gpu -o my-gpu.yaml",
    ],
)
@click.option("-o", "--output", type=click.Path(), help="The file to write the kernels to (CSV).")
@click.option(
    "--write-script",
    "script",
    type=click.Path(),
    help="Only write the Python script, to run elsewhere; it needs PyTorch, and no Yantra.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1, max=3600),
    default=120,
    show_default=True,
    help="Stop measuring after this many seconds.",
)
@click.option(
    "--device",
    type=click.Choice(("cuda", "cpu")),
    default="cuda",
    show_default=True,
    help="cpu measures a few small kernels of this CPU, to try the way.",
)
@json_option
def command(
    output: str | None, script: str | None, seconds: float, device: str, as_json: bool
) -> int:
    """Measure kernels on this machine's GPU with PyTorch, in two minutes.

    Matrix products by shape and type, attention, experts, kernels bound by memory, an empty
    kernel, and copies to the host. `yantra calibrate` makes a profile of them.
    """
    from yantra.accuracy import microbench_script
    from yantra.base.documents import read_text
    from yantra.base.output import whole_file, write_text

    if (output is None) == (script is None):
        raise click.UsageError("expected either -o FILE or --write-script FILE")
    if script is not None:
        write_text(script, read_text(microbench_script.__file__))
        return _say(
            {"script": script}, f"wrote {script}; run: python {script} -o node.csv", as_json
        )
    from yantra.base.text import count

    assert output is not None
    if isdir(output):
        raise ConfigError(output, "cannot be written: it is a folder")
    with whole_file(output) as path:  # what cannot be written is told before two minutes of work
        lines = _measured(seconds, device)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    kernels = sum(not line.startswith("#") for line in lines) - 1
    said = (
        f"wrote {output}: {count(kernels, 'kernel')}; next: yantra calibrate {output} --device NAME"
    )
    return _say({"file": output, "kernels": kernels}, said, as_json)


def _measured(seconds: float, device: str) -> list[str]:
    """Return the lines of a file. Raises ConfigError without PyTorch or a GPU."""
    from yantra.accuracy.microbench_script import Bench, cases, cases_of_cpu, measured
    from yantra.base.pytorch import torch_for

    try:
        torch = torch_for("yantra microbench")
    except ConfigError as error:
        raise ConfigError(error.where, f"{error.problem}, {_ELSEWHERE}") from None
    if device == "cpu":
        return list(measured(Bench(torch, device), cases_of_cpu(), seconds))
    if not torch.cuda.is_available():
        problem = f"PyTorch {torch.__version__} finds no GPU here; install a build for CUDA or ROCm"
        raise ConfigError("yantra microbench", f"{problem}, try --device cpu, {_ELSEWHERE}")
    return list(measured(Bench(torch), cases(), seconds))


def _say(form: dict[str, object], text: str, as_json: bool) -> int:
    sys.stdout.write(f"{json.dumps(form) if as_json else text}\n")
    return 0
