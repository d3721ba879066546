"""`unknown`: the stack of a framework that nobody names, a mixture of those that are shipped.

Nobody knows which framework it is, so its factors are drawn: from those of the shipped stacks, each
framework of which has one vote, whatever its generations, or from a broad prior of what frameworks
add to measured kernels, `PRIOR`, which weighs as much as `BROAD` frameworks do. It is the least
that data sets ask for when those of one framework are left out: 1.3 without FSDP's, 1.4 without
Meta's, 1.5 without Megatron's. The point estimate is the mean of the logarithms. Collectives and
messages take what was measured of them: no framework makes a link slower.

Trade-off: few frameworks are shipped, so the prior has most of the weight; how far off that is, the
interval says, which is that of steps predicted by mixtures without their own framework.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import exp, log
from statistics import fmean

from yantra.accuracy.fit import Factors
from yantra.fabric import stacks
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.fabric.stacks.types import ANY, FACTORS, Stack

PRIOR, BROAD = 1.3, 4


def shipped() -> list[Stack]:
    """Return the stacks that a mixture is of."""
    return [stacks.load(name) for name in stacks.names() if name != UNKNOWN]


def unknown_without(framework: str) -> Stack:
    """Return `unknown` as it were without the stacks of a framework, its interval as it is.

    That is of steps each of which was predicted without its own framework.
    """
    base, factors = stacks.load(UNKNOWN), mixture(shipped(), framework)
    terms = base.terms()[1]
    changed = {
        name: getattr(terms, name).replace(value=getattr(factors, name))
        for name in (*FACTORS, "communication")
    }
    return base.replace(machines=((ANY, terms.replace(**changed)),))


def mixture(of: Iterable[Stack], without: str = "") -> Factors:
    """Return the factors of a mixture of stacks `without` those of a framework."""
    votes: dict[str, list[Stack]] = defaultdict(list)
    for stack in of:
        if stack.framework != without:
            votes[stack.framework].append(stack)

    def mean(name: str) -> float:
        told = (
            fmean(log(getattr(stack.terms()[1], name).value) for stack in own)
            for own in votes.values()
        )
        return exp((sum(told) + BROAD * log(PRIOR)) / (len(votes) + BROAD))

    products, attention, rest = map(mean, FACTORS)
    return Factors(products, attention, rest, communication=1.0 / rest)
