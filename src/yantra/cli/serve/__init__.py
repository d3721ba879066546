"""`yantra serve`: requests on engines on a cluster; `serve plan` finds what keeps a promise."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import click

from yantra.base.errors import ConfigError, expected_got
from yantra.cli import warn
from yantra.cli.command import json_option, print_json
from yantra.cli.file_options import stack_option
from yantra.cli.group import Commands
from yantra.cli.model_options import cluster_option, model_option
from yantra.cli.plugin_option import option as plugin_option
from yantra.cli.timeline_options import form_of

if TYPE_CHECKING:
    from yantra.serving.answer import Served
    from yantra.serving.check import Checked
    from yantra.serving.fleet import Linear
    from yantra.serving.measures import Objective
    from yantra.serving.own_log import OwnLog
    from yantra.serving.requests import Requests


class _Tools(Commands):
    package = "yantra.cli.serve"
    known: ClassVar = {
        "plan": "Find the cheapest engine, parallelism and number of replicas that keep a promise.",
    }


@click.command(
    cls=_Tools,
    invoke_without_command=True,
    seldom=("rate", "routing", "cost"),
    examples=[
        "yantra serve --model llama3-8b --cluster hgx-h100 \\\n"
        "    --requests poisson:rate=10/s,count=2000,isl=1024,osl=128,seed=1",
        "yantra serve --model llama3-70b --cluster hgx-h100 --tp 4 --replicas 2 \\\n"
        "    --requests azure.csv --ttft 'p99 2 s' --tpot 'p99 50 ms'",
        "yantra serve --model llama3-70b --cluster hgx-h100 --prefill '1x tp=4' \\\n"
        "    --decode '1x tp=4' --requests azure.csv",
        "yantra serve --set cost='5 ms, 20 us, 0.1 us' --requests azure.csv \\\n"
        "    --report serve.html --trace run.pftrace",
        "yantra serve --engine vllm --set cost='5 ms, 20 us, 0.1 us' \\\n"
        "    --set max_num_seqs=64 --requests azure.csv --json",
    ],
)
@model_option()
@cluster_option()
@click.option(
    "--requests",
    metavar="FILE|RULE",
    help="A trace (Azure, Mooncake, BurstGPT, vLLM, ShareGPT, own; .gz), or a rule such as "
    "poisson:rate=10/s,count=1000,isl=1024,osl=128.",
)
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    help="Whose scheduler; or a script that starts vllm or sglang, which says model and plan.",
)
@click.option(
    "--replicas",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Engines that share the requests.",
)
@click.option("--tp", type=click.IntRange(min=1), help="Devices that share every layer.")
@click.option("--prefill", metavar="POOL", help="Replicas for prompts: '3x tp=4'; or a script.")
@click.option("--decode", metavar="POOL", help="Replicas that go on from there, with their KV.")
@click.option(
    "--routing", default="least_outstanding", show_default=True, help="Who takes a request."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field of the plan (ep=8, kv_cache_dtype=fp8), an option of the engine "
    "(max_num_seqs=128), concurrency=64, transfer=layer or '50 GB/s', seed=1, check=5 (simulate "
    "so many iterations on the fabric, too). May be repeated.",
)
@click.option(
    "--rate",
    metavar="RATE",
    help="Scale arrivals: 2x, 12/s, or max, the most that keeps every promise.",
)
@click.option("--ttft", metavar="BOUND", help="A promise: 'p99 500 ms'.")
@click.option("--tpot", metavar="BOUND", help="A promise: 'p99 50 ms'.")
@click.option(
    "--cost",
    metavar="TIMES",
    help="In place of model and cluster: s an iteration, token, context token.",
)
@stack_option
@click.option(
    "--log",
    type=click.Path(),
    metavar="FILE",
    help="In place of --requests: your own log, judged first.",
)
@click.option("--report", type=click.Path(), help="Write a report as one HTML file.")
@click.option(
    "--trace",
    type=click.Path(),
    help="Write a timeline: NAME.pftrace for Perfetto, NAME.json for chrome://tracing; either with "
    ".gz.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Write a row for each request as CSV; for a folder, run/, the answer beside it.",
)
@plugin_option
@json_option
@click.pass_context
def command(context: click.Context, /, **given: Any) -> int:
    """Serve requests on engines: what users wait for, why, and what it costs."""
    if context.invoked_subcommand is not None:
        return 0
    return _serve(**given)


def _serve(
    *,
    requests: str | None,
    settings: tuple[str, ...],
    tp: int | None,
    rate: str | None,
    ttft: str | None,
    tpot: str | None,
    cost: str | None,
    log: str | None,
    report: str | None,
    trace: str | None,
    output: str | None,
    as_json: bool,
    **named: Any,
) -> int:
    from yantra.cli.progress import progress
    from yantra.serving.serve import at_most, serve

    if trace is not None:
        form_of(trace)
    fields = read_fields(settings) | ({} if tp is None else {"tp": tp})
    is_stream = fields.get("stream", False)
    if is_stream:
        _check_stream(requests, rate, {"--log": log, "--report": report, "--trace": trace}, fields)
        fields["rows"] = None if output is None else _rows_in(output)
    asked, measured = (requests, {}) if is_stream else _asked(requests, log)
    check = fields.pop("check", 0)
    told = promises(ttft, tpot)
    found = None
    with progress("requests"):
        served = serve(
            requests=asked,
            rate_x=1.0 if rate == "max" else _rate(rate, asked),
            intervals=rate != "max",
            cost=None if cost is None else _cost(cost),
            samples=report is not None,
            **named,
            **fields,
        )
        if rate == "max":
            served, found = at_most(served, told)
    _write(served, output, report, told, has_rows=is_stream)
    if trace is not None:
        warn([f"{trace} lacks {note}" for note in served.to_trace(trace)])
    own = None
    if log is not None:
        from yantra.serving.own_log import judged

        own = judged(served.fleet, served.question.requests, measured, served.ran)
    _say(served, told, own, _checked(served, check), as_json=as_json)
    if found is not None and not as_json:
        sys.stdout.write(found.words() + "\n")
    return 0


def _check_stream(
    requests: str | None, rate: str | None, others: dict[str, str | None], fields: dict[str, Any]
) -> None:
    for name, value in others.items():
        if value is not None:
            raise ConfigError(name, "needs all requests at once; leave out --set stream=on")
    if requests is None:
        raise ConfigError("--requests", "expected a trace, or a rule such as poisson:rate=10/s")
    if rate is not None and not rate.strip().endswith("x"):
        raise ConfigError("--rate", expected_got("a factor such as 2x with stream=on", rate))
    if fields.get("check"):
        raise ConfigError("--set check", "needs all requests at once; leave out --set stream=on")


def _rows_in(output: str) -> str:
    from yantra.serving.rows import rows_in

    return rows_in(output)


def promises(ttft: str | None, tpot: str | None) -> list[Objective]:
    from yantra.serving.measures import Objective

    given = (("ttft", ttft), ("tpot", tpot))
    return [Objective.of(name, text, f"--{name}") for name, text in given if text is not None]


def _checked(served: Served, count: int) -> tuple[Checked, ...]:
    if not count:
        return ()
    from yantra.serving.check import checked

    return checked(served, count)


def _asked(requests: str | None, log: str | None) -> tuple[Requests, dict[str, Any]]:
    from yantra.serving.requests import load, read_log

    if log is not None and requests is not None:
        raise ConfigError("--log", "stands in place of --requests; give one of both")
    if log is not None:
        found = read_log(log)
        return found.requests, found.measured
    if requests is None:
        raise ConfigError("--requests", "expected a trace, or a rule such as poisson:rate=10/s")
    return load(requests), {}


def _say(
    served: Served,
    told: list[Any],
    own: OwnLog | None,
    states: tuple[Checked, ...],
    *,
    as_json: bool,
) -> None:

    if as_json:
        more: dict[str, Any] = {} if own is None else {"log": [row._asdict() for row in own.rows]}
        if own is not None and own.fit is not None:
            more["terms"] = own.fit.terms._asdict()
        if states:
            more["checked"] = [one._asdict() | {"state": one.state.words()} for one in states]
        print_json(served.as_dict() | _goodput(served, told) | more)
        return
    if own is not None:
        from yantra.serving.own_log import lines

        sys.stdout.write("\n".join(lines(own)) + "\n\n")
    sys.stdout.write(served.summary(told) + "\n")
    if states:
        from yantra.serving.check import lines as of_states

        sys.stdout.write("\n".join(of_states(states)) + "\n")


def _goodput(served: Served, told: list[Any]) -> dict[str, Any]:
    if not told:
        return {}
    kept = {str(one): one.value(served.ran) for one in told}
    return {"objectives_s": kept, "goodput_requests_per_s": served.goodput(told)}


def read_fields(settings: tuple[str, ...]) -> dict[str, Any]:
    from yantra.base.units import parse

    found: dict[str, Any] = {}
    for text in settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise ConfigError("--set", expected_got("NAME=VALUE", text))
        key = name.replace("-", "_")
        if key in ("concurrency", "seed", "check", "kv_bytes_per_token"):
            if not value.isdecimal():
                raise ConfigError(f"--set {name}", expected_got("a whole number", value))
            found[key] = int(value)
        elif key == "stream":
            if value not in ("on", "off"):
                raise ConfigError(f"--set {name}", expected_got("on or off", value))
            found[key] = value == "on"
        elif key == "transfer" and value in ("layer", "end"):
            found["layerwise"] = value == "layer"
        elif key == "transfer":
            found["transfer_bytes_per_s"] = parse(value, "bandwidth", "B/s", "--set transfer")
        elif key == "transfer_latency":
            found["transfer_latency_s"] = parse(value, "time", "s", "--set transfer_latency")
        else:
            found[key] = value
    return found


def _rate(text: str | None, asked: Any) -> float:
    if text is None:
        return 1.0
    number = text.strip().removesuffix("/s").removesuffix("x")
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9 or number == text.strip():
        raise ConfigError(
            "--rate", expected_got("a factor such as 2x or a rate such as 12/s", text)
        )
    if text.strip().endswith("x"):
        return value
    span = asked.span_s
    if span <= 0:
        raise ConfigError("--rate", "requests that arrive at once have no rate to scale")
    own_rate = (len(asked) - 1) / float(span)
    return value / own_rate


def _cost(text: str) -> Linear:
    from yantra.base.units import parse
    from yantra.serving.fleet import Linear

    parts = [part.strip() for part in text.split(",")]
    if not 1 <= len(parts) <= 3:
        raise ConfigError(
            "--cost", expected_got("up to three times such as '5 ms, 20 us, 0.1 us'", text)
        )
    seconds = [parse(part, "time", "s", "--cost") for part in parts]
    if seconds[0] <= 0 or min(seconds) < 0:
        raise ConfigError("--cost", expected_got("an iteration above 0 s", text))
    return Linear(*seconds)


def _write(
    served: Served,
    output: str | None,
    report: str | None,
    told: list[Any],
    *,
    has_rows: bool = False,
) -> None:
    if output is not None:
        from yantra.serving.rows import write_all, write_answer

        write = write_answer if has_rows else write_all
        write(served, output, _goodput(served, told))
    if report is not None:
        from yantra.serving.page import write_page

        write_page(served, report, told)
