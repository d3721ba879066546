"""What the next dollar is best spent on: faster parts, or more of them.

An offer multiplies one rate, or the number of devices, at a price an hour and device. The most an
offer may cost keeps the price of a token:

    most = price x (time now / time with it - 1)

and an offer pays if it costs less.

Trade-off: offers are judged one by one; two together may differ from their sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from yantra.base import units
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import table
from yantra.base.units import format_time
from yantra.explore.answers.why import plan_text
from yantra.explore.study.study_file import Study, point_words
from yantra.explore.study.trial import Plans, hourly_of, plans_of

USUAL = 1.05
DEVICES = "ranks"
_OFFER = re.compile(r"(?P<rate>.+?) x(?P<factor>[0-9.]+)(?: (?P<price>\S.*))?")


class Offer(NamedTuple):
    """A rate or `ranks`, its factor, and the extra USD an hour and device, None if unknown."""

    rate: str
    factor: float
    usd_per_h: float | None = None


class Worth(NamedTuple):
    """What an offer gives; times in ns, money in USD an hour and present device.

    `most_usd_per_h` is its break-even price, `value_ns_per_usd` the time saved per dollar an hour
    of the job; None without prices.
    """

    offer: Offer
    time_ns: float
    saved_ns: float
    plan: dict[str, int]
    other_plan: bool
    most_usd_per_h: float | None
    value_ns_per_usd: float | None

    @property
    def pays(self) -> bool | None:
        if self.most_usd_per_h is None or self.offer.usd_per_h is None:
            return None
        return self.offer.usd_per_h < self.most_usd_per_h


class NextDollar(NamedTuple):
    """The trial as it is, and the offers, best first."""

    trial: int
    time_ns: float
    usd_per_h: float | None
    worths: tuple[Worth, ...]


def read_offer(text: str) -> Offer:
    """Read an offer such as `links 1 x2 0.15 USD/h`. Raises ConfigError."""
    found = _OFFER.fullmatch(text.strip())
    if found is None:
        raise ConfigError("--offer", expected_got("such as 'links 1 x2 0.15 USD/h'", text))
    factor = _factor(found["factor"])
    if not factor > 1:
        raise ConfigError("--offer", expected_got("a factor above 1, such as x1.2", text))
    price = found["price"]
    usd = None if price is None else units.parse(price, "price", "USD/h", "--offer")
    if usd is not None and usd < 0:
        raise ConfigError("--offer", expected_got("a price of at least 0 USD/h", price))
    rate = found["rate"]
    if rate == DEVICES and (factor != int(factor) or usd is not None):
        problem = "a whole factor and no price, such as 'ranks x2'; devices cost what they cost now"
        raise ConfigError("--offer", expected_got(problem, text))
    return Offer(rate, factor, usd)


def _factor(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def next_dollar(study: Study, number: int, offers: Sequence[Offer] = ()) -> NextDollar:
    """Return the worth of offers to a trial; by default 5 % more of each rate, and twice all.

    Raises ConfigError for an unknown rate and a trial without a plan.
    """
    plans = plans_of(study, number)
    best = plans.best()
    now = float(plans.judged.time_ns[best])
    hourly = hourly_of(study, plans.cluster, plans.scale)
    chosen = offers or [*(Offer(rate, USUAL) for rate in plans.machine.rates), Offer(DEVICES, 2.0)]
    worths = [_worth(plans, best, hourly, number, offer) for offer in chosen]
    worths.sort(key=lambda one: (-(one.value_ns_per_usd or 0.0), -one.saved_ns))
    return NextDollar(number, now, hourly, tuple(worths))


def _worth(plans: Plans, best: int, hourly: float | None, number: int, offer: Offer) -> Worth:
    now, devices = float(plans.judged.time_ns[best]), plans.space.ranks
    if offer.rate == DEVICES:
        again = plans_of(plans.study, number, ranks=devices * int(offer.factor))
        offer = offer._replace(usd_per_h=None if hourly is None else hourly * (offer.factor - 1))
    else:
        known = (*plans.machine.rates, DEVICES)
        if offer.rate not in known:
            problem = expected_got(f"one of {', '.join(known)}", offer.rate)
            raise ConfigError("--offer", problem + did_you_mean(offer.rate, known))
        again = plans.at(plans.scale.times(offer.rate, offer.factor))
    row = again.best()
    time = float(again.judged.time_ns[row])
    own, other = _plan(plans, best), _plan(again, row)
    is_other = any(own[name] != other[name] for name in own if name != "dp")
    extra = (offer.usd_per_h or 0.0) * devices
    return Worth(
        offer,
        time,
        now - time,
        other,
        is_other,
        None if hourly is None else hourly * (now / time - 1),
        (now - time) / extra if extra else None,
    )


def _plan(plans: Plans, row: int) -> dict[str, int]:
    return {name: int(of[row]) for name, of in plans.columns.items()}


def words(study: Study, answer: NextDollar) -> Iterator[str]:
    price = "" if answer.usd_per_h is None else f", {answer.usd_per_h:g} USD/h a device"
    time = format_time(answer.time_ns)
    yield f"trial {answer.trial}: {point_words(study, answer.trial)}, {time} a step{price}"
    head = ("offer", "USD/h", "pays up to", "step time", "saved", "per USD/h of the job", "")
    rows = []
    for one in answer.worths:
        said = {True: "pays", False: "does not pay", None: ""}[one.pays]
        if one.other_plan:
            said = f"{said}, other plan: {plan_text(one.plan)}".removeprefix(", ")
        value = one.value_ns_per_usd
        rows.append(
            (
                f"{one.offer.rate} x{one.offer.factor:g}",
                "" if one.offer.usd_per_h is None else f"{one.offer.usd_per_h:g}",
                "" if one.most_usd_per_h is None else f"{one.most_usd_per_h:.3g}",
                format_time(one.time_ns),
                format_time(one.saved_ns),
                "" if value is None else format_time(value),
                said,
            )
        )
    yield from (f"  {line}" for line in table(head, rows))
    if answer.usd_per_h is None:
        name = study.trials()[answer.trial][0]
        yield f"{name} states no price, so no offer can be judged; give it in `prices` of the study"
