"""The page of `yantra ui` for serving: as `yantra serve` with requests by a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, expected_got
from yantra.serving.batching import names as engines
from yantra.ui.sheets import Form, Sheet, number

if TYPE_CHECKING:
    from yantra.serving.answer import Served
    from yantra.serving.measures import Objective

_MOST_REQUESTS, _MOST_TOKENS, _MOST = 20_000, 1 << 20, 4096
_KV = "kv_cache_dtype"
_SHOWN = (50.0, 90.0, 99.0)
_MEASURES = {"ttft": "time to the first token", "tpot": "time per output token after the first"}


def asked(form: Form, *, samples: bool) -> tuple[Served, list[Objective]]:
    """Serve what a form asks for. Raises ConfigError and CapacityError."""
    from yantra.serving.measures import Objective
    from yantra.serving.serve import serve

    promises = [Objective.of(name, form[name], name) for name in _MEASURES if form[name]]
    count, isl, osl = (
        number(form, "count", _MOST_REQUESTS), number(form, "isl", _MOST_TOKENS),
        number(form, "osl", _MOST_TOKENS),
    )  # fmt: skip
    rule = f"poisson:rate={_rate(form)!r}/s,count={count},isl={isl},osl={osl},seed=1"
    fields: dict[str, Any] = {} if not form[_KV] else {_KV: form[_KV]}
    served = serve(
        form["model"], form["cluster"], rule, engine=form["engine"], samples=samples,
        replicas=number(form, "replicas", _MOST), tp=number(form, "tp", _MOST), **fields,
    )  # fmt: skip
    return served, promises


def _rate(form: Form) -> float:
    try:
        rate = float(form["rate"].removesuffix("/s"))
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise ConfigError("rate", expected_got("requests a second, such as 10", form["rate"]))
    return rate


def answer(form: Form) -> dict[str, Any]:
    """The answer of the page."""
    from yantra.serving.page import spent, waiting
    from yantra.serving.words import OVERLOADED, short, title, told

    served, promises = asked(form, samples=False)
    span = served.interval("ttft", 99.0)
    name, *rest = [
        [
            f"{name.upper()}",
            ", ".join(f"p{p:g} {short(getattr(served, name).at(p))}" for p in _SHOWN),
            words,
        ]
        for name, words in _MEASURES.items()
    ]
    return {
        "time": short(served.ttft.at(99.0)),
        "interval": "" if span is None else " to ".join(map(short, span)),
        "said": "to the first token, for 99 of 100 requests",
        "ran": title(served),
        "bound": waiting(served),
        "lines": [name, *rest, *(["", line, ""] for line in told(served, promises))],
        "gains": [],
        "pictures": {"spent": spent(served.ran)},
        "warnings": [f"{OVERLOADED}."] if served.is_overloaded else [],
    }


def report(form: Form) -> str:
    """The report of `yantra serve --report`."""
    from yantra.serving.page import page

    return page(*asked(form, samples=True))


SHEET = Sheet(
    name="serve",
    title="Serving",
    groups={
        "What is served": ("model", "rate", "count", "isl", "osl"),
        "On what": ("cluster", "engine", "replicas", "tp", "kv_cache_dtype"),
        "What is promised": ("ttft", "tpot"),
    },
    first={
        "model": "llama3-8b", "rate": "10", "count": "500", "isl": "1024", "osl": "128",
        "cluster": "hgx-h100", "engine": "vllm", "replicas": "1", "tp": "1",
        "kv_cache_dtype": "", "ttft": "p99 500 ms", "tpot": "p99 50 ms",
    },
    about={
        "model": "what answers",
        "rate": "requests a second, as a Poisson process",
        "count": "requests of the trace",
        "isl": "tokens of a prompt, in the mean",
        "osl": "tokens of an output, in the mean",
        "cluster": "the machine",
        "engine": "whose scheduler",
        "replicas": "engines that share the requests",
        "tp": "devices that share every layer of an engine",
        "kv_cache_dtype": "the type of the KV; the model's if empty",
        "ttft": "a promise of the time to the first token, such as p99 500 ms; none if empty",
        "tpot": "a promise of the time per output token; none if empty",
    },
    choices=lambda: {"engine": engines()},
    powers={"count": (4, 14), "isl": (4, 17), "osl": (0, 14), "replicas": (0, 8), "tp": (0, 5)},
    empty={"kv_cache_dtype": "the model's", "ttft": "none", "tpot": "none"},
    answer=answer,
    report=report,
)  # fmt: skip
