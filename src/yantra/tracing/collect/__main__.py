"""`python -m yantra.collect train.py ...`: records a training script unchanged.

A step ends where the first optimizer has stepped or, on request, at `yantra.collect.step()`.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import threading
from contextlib import nullcontext
from functools import partial
from typing import Any, NoReturn

import click

from yantra.base.errors import ConfigError, YantraError
from yantra.base.pytorch import torch_for
from yantra.tracing.collect.optimizer_steps import stepping
from yantra.tracing.collect.recorder import WHERE, Collector

_QUIET = {"KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR"}


@click.command(
    context_settings={
        "allow_interspersed_args": False,
        "help_option_names": ["--help", "-h"],
    }
)
@click.option("-o", "--output", default="traces", show_default=True, help="The folder to write to.")
@click.option("--warmup", default=1, show_default=True, help="Steps to run before recording.")
@click.option("--active", default=1, show_default=True, help="Steps to record.")
@click.option(
    "--step",
    type=click.Choice(("optimizer", "call", "whole")),
    default="optimizer",
    show_default=True,
    help="What ends a step: its first optimizer, yantra.collect.step(), or the script's end.",
)
@click.option("--shapes/--no-shapes", default=True, show_default=True, help="Record shapes.")
@click.option("--gzip", is_flag=True, help="Pack the traces.")
@click.option("-m", "--module", is_flag=True, help="SCRIPT is the name of a module.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(
    output: str,
    warmup: int,
    active: int,
    step: str,
    shapes: bool,
    gzip: bool,
    module: bool,
    script: str,
    arguments: tuple[str, ...],
) -> None:
    """Run SCRIPT with its ARGUMENTS and record steps of it."""
    if not module and not os.path.isfile(script):
        raise ConfigError(script, "no such file; expected a Python script")
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    torch_for(WHERE)
    whole = step == "whole"
    collector = Collector(
        output,
        warmup=0 if whole else warmup,
        active=1 if whole else active,
        record_shapes=shapes,
        gzip=gzip,
    )
    collector.driven = step != "call"
    collector.advice = partial(_advice, step)
    with collector, stepping(collector.step) if step == "optimizer" else nullcontext():
        _run(script, arguments, module)


def _advice(step: str, ended: int) -> str:
    if step == "call":
        return "the script calls yantra.collect.step() after each step; or ask for fewer"
    if not ended:
        return "no optimizer stepped; for inference, record the whole script with --step whole"
    return "the first optimizer stepped so often; ask for fewer with --warmup and --active"


def main(argv: list[str] | None = None) -> int:
    try:
        command.main(argv, prog_name="python -m yantra.collect", standalone_mode=False)
    except YantraError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    return 0


def _run(script: str, arguments: tuple[str, ...], module: bool) -> None:
    sys.argv = [script, *arguments]
    if module:
        sys.path.insert(0, os.getcwd())
        _LEFT.append(runpy.run_module(script, run_name="__main__", alter_sys=True))
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
        _LEFT.append(runpy.run_path(script, run_name="__main__"))


_LEFT: list[dict[str, Any]] = []  # the script's names at its end


def status() -> int:
    try:
        return main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
    except BaseException as failure:
        _LEFT.append({"failure": failure})  # its frames hold the script's names
        sys.excepthook(type(failure), failure, failure.__traceback__)
    return 1


def leave(code: int) -> NoReturn:
    """End the process, leaving the script's objects alone.

    Destroying a process group joins gloo's threads under the interpreter's lock, which a thread
    that frees a finished collective needs: deadlock.
    """
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(status())
