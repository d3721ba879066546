"""`unknown`: the stack of a framework that nobody names, a mixture of those that are shipped.

Nobody knows which framework it is, so its factors are drawn: from those of the shipped stacks, each
framework of which has one vote, whatever its generations, or from a broad prior of what frameworks
add to measured kernels, `PRIOR`, which weighs as much as `BROAD` frameworks do. In that for
attention are kernels of older years: `older_attention` of the file is what they come to. With it
the mean error over data sets is nil, each predicted without its own framework. SMs that collectives
take are in it, so the mixture states none. The point estimate is the mean of the logarithms.
What they add to products is more on machines of another balance (`yantra.fabric.stacks.balance`).
Products of a GPU with more power than that of its tables gain half of that, measured alone; in
steps, which draw all there is, they gain the whole (`powered`).
Stacks of TPUs have no vote: what XLA adds there says nothing of frameworks on GPUs.

Who computes products in 8 bits or fewer has a framework of the years since there is hardware for
it. So in products only frameworks that do it have a vote, and the prior adds nothing: they run in
the libraries that the tables measure. Old kernels of attention are none then. Engines of inference
have neither this nor what balance adds: `training_products` is what both come to.
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
from yantra.compute.families.machine import GPUS, POWERED
from yantra.fabric import clusters, stacks
from yantra.fabric.stacks.balance import PRIOR, products_on
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.fabric.stacks.types import ANY, FACTORS, Stack

BROAD = 4
EIGHT = " fp8"
"""What keys of terms in 8 bits and fewer end in."""
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
        factors = mixture_on(machine, every, terms.older_attention.value or 1.0, framework)
        changed = {
            name: getattr(terms, name).replace(value=getattr(factors, name))
            for name in (*FACTORS, "communication")
        }
        machines.append((machine, terms.replace(**changed)))
    return base.replace(machines=tuple(machines))


def powered(machine: str) -> float:
    """Return the factor of products in steps on a GPU with more power than that of its tables."""
    device = clusters.load(machine) if machine in clusters.names() else None
    gpu = GPUS.get(device.like or "") if device else None
    if device is None or device.power is None or gpu is None:
        return 1.0
    return float(max(device.power.value / gpu.power_w, 1.0) ** (POWERED - 1.0))


def in_eight_bits(stack: Stack) -> bool:
    """Return whether a stack has steps in 8 bits or fewer."""
    return any(key.endswith((" fp8", " fp4")) for key, _ in stack.machines)


def mixture_on(machine: str, of: Iterable[Stack], older: float = 1.0, without: str = "") -> Factors:
    """Return the factors of a mixture at a key of its file; see `mixture`."""
    gained = powered(machine.removesuffix(EIGHT))
    if not machine.endswith(EIGHT):
        products = PRIOR if machine == ANY else products_on(machine)
        found = mixture(of, without, older, (products, PRIOR, PRIOR))
        return found._replace(products=found.products * gained)
    of = list(of)
    eight = mixture(filter(in_eight_bits, of), without, prior=(1.0, PRIOR, PRIOR))
    return mixture(of, without)._replace(products=eight.products * gained)


def mixture(
    of: Iterable[Stack],
    without: str = "",
    older: float = 1.0,
    prior: tuple[float, float, float] = (PRIOR,) * 3,
) -> Factors:
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
        broad = log(prior[FACTORS.index(name)]) + (age if name == "attention" else 0.0)
        told = (
            fmean(
                fmean(log(getattr(stack.terms()[1], name).value) for stack in releases)
                for releases in own.values()
            )
            for own in votes.values()
        )
        return exp((sum(told) + BROAD * broad) / (len(votes) + BROAD))

    products, attention, rest = map(mean, FACTORS)
    return Factors(products, attention, rest, communication=1.0 / rest)
