"""`unknown`: the stack of a framework that nobody names, a mixture of those that are shipped.

Nobody knows which framework it is, so its factors are drawn: from those of the shipped stacks, each
framework of which has one vote, whatever its generations, or from a broad prior of what frameworks
add to measured kernels, `PRIOR`, which weighs as much as `BROAD` frameworks do. In that for
attention are kernels of older years: `older_attention` of the file is what they come to. With it
the mean error over data sets is nil, each predicted without its own framework. SMs that collectives
take are in it, so the mixture states none. The point estimate is the mean of the logarithms.
Stacks of TPUs have no vote: what XLA adds there says nothing of frameworks on GPUs.
Collectives and messages take what was measured of them: no framework makes a link slower.

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

PRIOR, BROAD = 1.22, 4
_TPU = "tpu"


def shipped() -> list[Stack]:
    """Return the stacks that are shipped, but for the mixture itself."""
    return [stacks.load(name) for name in stacks.names() if name != UNKNOWN]


def on_gpus(stack: Stack) -> bool:
    """Return whether a stack's steps ran on anything but TPUs, whose clusters are named so."""
    named = [key for key, _ in stack.machines if key != ANY]
    return not named or not all(key.startswith(_TPU) for key in named)


def unknown_without(framework: str) -> Stack:
    """Return `unknown` as it were without the stacks of a framework, its interval as it is.

    That is of steps each of which was predicted without its own framework.
    """
    base, every = stacks.load(UNKNOWN), shipped()
    machines = []
    for machine, terms in base.machines:
        factors = mixture(every, framework, terms.older_attention.value or 1.0)
        changed = {
            name: getattr(terms, name).replace(value=getattr(factors, name))
            for name in (*FACTORS, "communication")
        }
        machines.append((machine, terms.replace(**changed)))
    return base.replace(machines=tuple(machines))


def mixture(of: Iterable[Stack], without: str = "", older: float = 1.0) -> Factors:
    """Return the factors of a mixture of stacks `without` those of a framework.

    `older` is by how much kernels of any year make attention of the whole mixture longer.
    """
    of = [stack for stack in of if on_gpus(stack)]
    age = log(older) * (len({stack.framework for stack in of}) + BROAD) / BROAD
    votes: dict[str, dict[str, list[Stack]]] = defaultdict(lambda: defaultdict(list))
    for stack in of:
        if stack.framework != without:
            votes[stack.framework][stack.generation].append(stack)

    def mean(name: str) -> float:
        prior = log(PRIOR) + (age if name == "attention" else 0.0)
        told = (
            fmean(
                fmean(log(getattr(stack.terms()[1], name).value) for stack in releases)
                for releases in own.values()
            )
            for own in votes.values()
        )
        return exp((sum(told) + BROAD * prior) / (len(votes) + BROAD))

    products, attention, rest = map(mean, FACTORS)
    return Factors(products, attention, rest, communication=1.0 / rest)
