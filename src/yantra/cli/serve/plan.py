"""`yantra serve plan`: the cheapest deployment that keeps a promise, and why others lose."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from yantra.base.errors import CapacityError, ConfigError, did_you_mean, expected_got
from yantra.cli.command import WithExamples, json_option, print_json
from yantra.cli.file_options import stack_option
from yantra.cli.model_options import clusters_option, model_option
from yantra.cli.serve import promises

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.serving.requests import Requests
    from yantra.serving.search import Found


@click.command(
    cls=WithExamples,
    seldom=("requests", "engine", "dtype", "devices", "top", "output"),
    examples=[
        "yantra serve plan --model llama3-8b --cluster hgx-h100 --rate 40 \\\n"
        "    --isl 2000 --osl 300 --ttft 'p99 1 s' --tpot 'p99 30 ms'",
        "yantra serve plan --model llama3-70b --cluster hgx-h100 --cluster hgx-b200 \\\n"
        "    --set requests=azure.csv --tpot 'p99 40 ms' --json",
    ],
)
@model_option(required=True)
@clusters_option
@click.option("--rate", type=float, help="Requests per second, Poisson.")
@click.option("--isl", type=click.IntRange(1, 10**7), help="Tokens of a prompt.")
@click.option("--osl", type=click.IntRange(1, 10**7), help="Tokens of an output.")
@click.option("--requests", metavar="FILE|RULE", help="In place of --rate, --isl and --osl.")
@click.option("--ttft", metavar="BOUND", help="A promise: 'p99 500 ms'.")
@click.option("--tpot", metavar="BOUND", help="A promise: 'p99 50 ms'.")
@click.option(
    "--engine", "engines", multiple=True, help="Engines to try; vllm and sglang if left out."
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    help="Types to try; if left out the checkpoint's 8 bits or bf16; fp8_block if that never fits.",
)
@click.option("--devices", type=click.IntRange(min=1), help="The most that it may take.")
@click.option("--top", type=click.IntRange(1, 50), default=5, show_default=True)
@stack_option
@click.option(
    "--emit",
    metavar="ENGINE",
    help="Write to the folder -o the script and the deployment that start the best one in vllm or "
    "sglang, which alone is tried.",
)
@click.option("-o", "--output", type=click.Path(), help="The folder for --emit.")
@json_option
def command(
    model: str,
    names: tuple[str, ...],
    rate: float | None,
    isl: int | None,
    osl: int | None,
    requests: str | None,
    ttft: str | None,
    tpot: str | None,
    engines: tuple[str, ...],
    dtypes: tuple[str, ...],
    devices: int | None,
    top: int,
    stack: str | None,
    emit: str | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Find what serves a rate of requests at the least cost and keeps each promise.

    Engines, parallelism, budgets and seats of a replica, pools of prefill and decode, and how many.
    """
    from yantra.cli.progress import progress
    from yantra.fabric.clusters import load as load_cluster
    from yantra.serving.search import search
    from yantra.serving.search.words import as_dict, lines
    from yantra.workloads.models.catalogue import find

    if not (told := promises(ttft, tpot)):
        problem = "no promise to keep; give --ttft 'p99 500 ms', --tpot or both"
        raise ConfigError("serve plan", problem)
    engines = _emitted(emit, output, engines)
    described = find(model)
    asked = _requests(requests, rate, isl, osl)

    def searched(types: tuple[str, ...], domains: tuple[int, ...] = (1,)) -> Found:
        with progress("deployments") as tell:
            return search(
                described,
                [load_cluster(name) for name in names],
                asked,
                told,
                engines=engines or _usual(),
                dtypes=types,
                stack=stack,
                most_devices=devices,
                domains=domains,
                tell=tell,
            )

    found = _widened(searched, dtypes, _published(model))
    if as_json:
        print_json(as_dict(found, top))
    else:
        sys.stdout.write("\n".join(lines(found, described.name, asked, told, top)) + "\n")
    _start(model, found, output, quiet=as_json)
    return 0 if found.kept else CapacityError.exit_code


def _widened(
    search: Callable[..., Found], dtypes: tuple[str, ...], published: tuple[str, ...]
) -> Found:
    """Over several domains where none holds a replica, and then, if no type is said, in 8 bits.

    Without a type weights have that of the published checkpoint.
    """
    from yantra.base.notes import note
    from yantra.serving.search import NO_ROOM

    def has_no_room(found: Found) -> bool:
        return not found.kept and all(one.why_not == NO_ROOM for one in found.lost)

    tried: list[tuple[str, ...]] = [dtypes or published or ("bf16",)]
    if not dtypes and not published:
        tried.append(("fp8_block",))
    for types in tried:
        if types != tried[0]:
            note("4 of them do not hold bf16 either, so weights are taken in fp8_block")
        found = search(types)
        if not has_no_room(found):
            return found
        note("no domain of the innermost network holds a replica, so it has 2 or 4 of them")
        found = search(types, (2, 4))
        if not has_no_room(found):
            return found
    return found


def _start(model: str, found: Found, output: str | None, *, quiet: bool) -> None:
    if output is not None:
        from yantra.cli.emitted import write_serving

        write_serving(model, found, output, quiet=quiet)


def _emitted(emit: str | None, output: str | None, engines: tuple[str, ...]) -> tuple[str, ...]:
    from yantra.serving.commands.table import ENGINES

    if emit is None and output is None:
        return engines
    if emit is None or output is None:
        raise ConfigError("--emit", "goes with -o FOLDER; give both")
    if emit not in ENGINES:
        known = f"one of {', '.join(ENGINES)}"
        raise ConfigError("--emit", expected_got(known, emit) + did_you_mean(emit, ENGINES))
    if engines not in ((), (emit,)):
        raise ConfigError("--emit", f"tries {emit} alone; leave out --set engine")
    return (emit,)


def _published(model: str) -> tuple[str, ...]:
    """The type of a checkpoint in 8 bits, which is the one that an engine starts with."""
    from yantra.serving.commands.weights import id_of, type_of

    try:
        stored = type_of(id_of(model))
    except ConfigError:
        return ()  # it is nobody's checkpoint
    return (stored,) if stored.startswith("fp8") else ()


def _usual() -> tuple[str, ...]:
    return ("vllm", "sglang")


def _requests(
    requests: str | None, rate: float | None, isl: int | None, osl: int | None
) -> Requests:
    from yantra.serving.requests import load

    if requests is not None:
        if (rate, isl, osl) != (None, None, None):
            raise ConfigError(
                "--requests", "stands in place of --rate, --isl and --osl; leave them out"
            )
        return load(requests)
    if rate is None or isl is None or osl is None:
        raise ConfigError("serve plan", "expected --rate, --isl and --osl, or --requests")
    if not 0 < rate < 1e6:
        raise ConfigError("--rate", f"expected requests per second above 0, got {rate:g}")
    count = max(500, min(int(rate * 60), 5000))
    return load(f"poisson:rate={rate:g}/s,count={count},isl={isl},osl={osl},seed=1")
