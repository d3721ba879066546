"""A life in lines of text, and as plain values."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from yantra.base.text import count
from yantra.lives.energy import AFTER, AT_WORK
from yantra.lives.policy import NEVER
from yantra.lives.ranges import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.lives.life import Life
    from yantra.result.energy import Phase

PARTS = {
    "useful": "useful",
    "restarts": "restarts",
    "redone": "lost work",
    "checkpoints": "checkpoints",
    "waiting": "waiting for hosts",
    "stragglers": "stragglers",
    "ragged": "ragged groups",
}
_MINUTE = 60.0
_WIDE = 36
_WHOLE_KWH = 1e3
_MEGAWATT = 1e6
_COLUMNS = 100
_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def lines(life: Life) -> Iterator[str]:
    yield title(life)
    for head, text in rows(life):
        yield _line(head, text)
    yield "other policies on the same failures: goodput, and the difference"
    for one in life.bought:
        gain = f"{one.gains * 100:+.2f} ({one.low * 100:+.2f} to {one.high * 100:+.2f})"
        yield f"  {one.name:{_WIDE}}{one.goodput:7.2%}  {gain} points"
    for name, why in life.question.rates.unknown:
        yield _line("UNKNOWN", f"rate of {name}: {why}; left out")


def title(life: Life) -> str:
    of = life.question
    lived = f"{count(of.settings.lives, 'life', 'lives', commas=True)} of {of.days:g} days"
    return f"{of.job.title}, {of.job.hosts:,} hosts: {lived}, rates {of.rates.name}"


def rows(life: Life) -> Iterator[tuple[str, str]]:
    """Names and texts; one without a name goes on with the last."""
    yield "goodput", f"{_percent(life.goodput)} of the time useful"
    mttf = life.mttf_h
    met = life.interruptions
    every = "" if mttf is None else f", one in {_span(mttf, '.3g')} h"
    yield "interrupted", f"{_span(met, ',.0f' if met.mean >= 10 else '.2g')} times{every}"
    causes = sorted(life.by_component.items(), key=lambda item: -item[1])
    yield "", ", ".join(f"{name} {mean:,.0f}" for name, mean in causes if mean >= 0.5)
    lost = sorted(life.lost.items(), key=lambda item: -item[1])
    yield "lost to", ", ".join(f"{PARTS[name]} {share:.2%}" for name, share in lost)
    yield "checkpoints", _checkpoints(life)
    yield "spare hosts", _spares(life)
    yield "trains", _trains(life)
    yield "cost", _cost(life)
    if life.usd is None:
        yield "", "give --set price='2.50 USD/h', or a capital with what owning it costs"
    else:
        yield "", _priced(life)
    yield "energy", _energy(life)
    if life.power:
        yield "power", _power(life)


def _checkpoints(life: Life) -> str:
    of, kind = life.policy, life.question.settings.checkpoint
    if life.interval_s is None:
        return "none" if kind == "none" else "none, as nothing fails"
    steps = round(of.tau / life.question.job.step)
    chosen = "best: " if life.question.settings.interval is None else ""
    closed = life.closed_interval_s
    told = "" if closed is None else f"; closed form {closed / _MINUTE:.3g} min"
    every = f"{chosen}every {count(steps, 'step')}, {life.interval_s / _MINUTE:.3g} min"
    costs = f"blocks {of.block / 1e9:.3g} s, safe after {of.save / 1e9:.3g} s"
    stored = f", every {of.store_every}th stored" if of.store_every > 1 else ""
    return f"{every}{told}; {kind}: {costs}{stored}"


def _spares(life: Life) -> str:
    hosts = life.question.job.hosts
    chosen = "best: " if life.question.settings.spares is None else ""
    queue = life.policy.queue
    lent = "none" if queue >= NEVER else f"one after {queue / 3.6e12:.3g} h"
    return f"{chosen}{life.spares}, {life.spares / hosts:.1%} of the job's; from the queue {lent}"


def _trains(life: Life) -> str:
    said = f"{_span(life.steps, ',.0f')} steps"
    if life.question.job.tokens:
        scale, word = next((of for of in _SCALES if life.tokens.mean >= of[0]), _SCALES[-1])
        tokens = Range(*(end / scale for end in life.tokens))
        said += f", {_span(tokens, '.3g')} {word} tokens"
    return said if life.mfu is None else f"{said}; MFU {_percent(life.mfu)} of the whole time"


def _cost(life: Life) -> str:
    if life.usd is None:
        return f"UNKNOWN: {life.question.cluster.name} states no price"
    hourly = life.price.usd_per_h
    parts = [
        f"{name} {'UNKNOWN' if value is None else f'{value:.4g}'}"
        for name, value in life.price.parts
        if value is not None or name in ("network", "storage")
    ]
    within = f"{hourly:.4g} USD/h a device ({life.price.basis}; {', '.join(parts)})"
    return f"{life.usd:,.0f} USD at {within}"


def _priced(life: Life) -> str:
    said = []
    if (each := life.usd_per_million_tokens) is not None:
        said.append(f"{_span(each, '.4g')} USD per million tokens")
    if (point := life.usd_per_point) is not None:
        said.append(f"a point of MFU is worth {_span(point, ',.0f')} USD")
    by_part = life.usd_by_part or {}
    spares = by_part.get("spares", 0.0)
    wasted = sum(by_part.values()) - by_part.get("useful", 0.0) - spares
    said.append(f"lost time {wasted:,.0f} USD, spare hosts {spares:,.0f} USD")
    return "; ".join(said)


def _energy(life: Life) -> str:
    draws, kwh, parts = life.question.job.draws, life.kwh, life.kwh_by_part
    if draws is None or kwh is None or parts is None:
        return f"UNKNOWN: {life.question.cluster.name} states no power of a device"
    least = "at least " if draws.unknown else ""
    form = ",.0f" if kwh.mean >= _WHOLE_KWH else ".3g"
    said = [f"{least}{_span(kwh, form)} kWh"]
    if (each := life.kwh_per_million_tokens) is not None:
        said.append(f"{_span(each, '.3g')} kWh per million tokens")
    idle = sum(part for name, part in parts.items() if name not in (*AT_WORK, "spares"))
    shares = (f"work again {parts['redone']:{form}}", f"waiting {idle:{form}}")
    said.append(f"{', '.join(shares)}, spare hosts {parts['spares']:{form}} kWh")
    co2, grid = life.kg_co2, draws.grid_g_per_kwh
    say = "CO2 UNKNOWN: --set grid='350 g/kWh'"
    said.append(say if co2 is None else f"{_span(co2, form)} kg CO2 at {grid:g} g/kWh")
    if draws.unknown:
        names = (name.rpartition(".")[2].replace("_", " ") for name in draws.unknown)
        said.append(f"UNKNOWN, left out: {', '.join(names)}")
    said.append("no measured training power")
    return "; ".join(said)


def _power(life: Life) -> str:
    """The building's, in MW: a step, a checkpoint, and what follows a failure."""
    draws = life.question.job.draws
    assert draws is not None
    unit, scale = ("MW", 1e6) if draws.peak_w >= _MEGAWATT else ("kW", 1e3)

    def told(one: Phase) -> str:
        name = one.name if one.name in AFTER else f"in a {one.name}"
        return f"{one.watts / scale:.4g} {unit} {name} ({one.seconds:.3g} s)"

    said = [told(one) for one in life.power if one.name in ("step", "checkpoint")]
    after = [told(one) for one in life.power if one.name in AFTER]
    least = "at least " if draws.unknown else ""
    failed = f"; after a failure {', '.join(after)}" if after else ""
    return f"{least}{', '.join(said)}{failed}; peak {draws.peak_w / scale:.4g} {unit}"


def as_dict(life: Life) -> dict[str, Any]:
    of = life.question
    ranges = (
        "goodput", "interruptions", "mttf_h", "steps", "tokens", "mfu",
        "usd_per_million_tokens", "usd_per_point", "kwh", "kwh_per_million_tokens", "kg_co2",
    )  # fmt: skip
    told = {name: getattr(life, name) for name in ranges}
    return {
        "job": of.job.title,
        "gpus": of.job.gpus,
        "days": of.days,
        "lives": of.settings.lives,
        "seed": of.settings.seed,
        "rates": of.rates.name,
        "step_s": of.job.step / 1e9,
        **{name: None if one is None else one._asdict() for name, one in told.items()},
        "by_component": life.by_component,
        "lost": life.lost,
        "interval_s": life.interval_s,
        "closed_interval_s": life.closed_interval_s,
        "spares": life.spares,
        "usd": life.usd,
        "usd_by_part": life.usd_by_part,
        "usd_per_h": dict(life.price.parts),
        "kwh_by_part": life.kwh_by_part,
        "power": [one.as_dict() for one in life.power],
        "profile_w": [] if of.job.draws is None else list(of.job.draws.profile_w),
        "peak_w": None if of.job.draws is None else of.job.draws.peak_w,
        "energy_unknown": [] if of.job.draws is None else list(of.job.draws.unknown),
        "policies": [one._asdict() for one in life.bought],
        "unknown": dict(of.rates.unknown),
        "rests_on": of.job.rests_on,
    }


def _line(head: str, text: str) -> str:
    return fill(text, _COLUMNS, initial_indent=f"{head:13}", subsequent_indent=" " * 13)


def _span(of: Range, form: str) -> str:
    return f"{of.mean:{form}} ({of.low:{form}} to {of.high:{form}})"


def _percent(of: Range) -> str:
    return f"{of.mean:.1%} ({of.low * 100:.1f} to {of.high * 100:.1f})"
