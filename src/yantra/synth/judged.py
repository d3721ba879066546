"""Judges every tier on jobs of the workload generator, whose truth is known at any setting:
`python -m yantra.synth.judged`.

Ten families at two sizes, of few layers, so that it takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import log2
from random import Random
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.scenario.types import Templates
from yantra.synth.attack import Found, Mark, attack, mark, membership
from yantra.synth.clusters import CLUSTERS, Ran, group_bytes, run_on
from yantra.synth.copies import copied, ratio
from yantra.synth.judge import TINY_BYTES, behaviours, bytes_apart, is_ordered, spearman
from yantra.synth.markov import markov
from yantra.synth.observe import Observed, observed
from yantra.synth.sample import sample
from yantra.synth.settings import Settings
from yantra.synth.shapes import Shape
from yantra.synth.tiers import fit_tier
from yantra.workloads.models import catalogue
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from yantra.run.share import Shared

DRAWN = ("rules", "grammar")
FAMILIES = (
    ("bert-base", "bert-large"), ("deepseek-v2-lite", "deepseek-v2"), ("gpt3-1.3b", "gpt3-13b"),
    ("llama2-7b", "llama2-70b"), ("llama3-8b", "llama3-70b"), ("qwen3-32b", "qwen3-32b"),
    ("mixtral-8x7b", "mixtral-8x22b"), ("qwen3-30b-a3b", "qwen3-235b-a22b"),
    ("gpt-530b", "gpt-1t"), ("deepseek-v3", "deepseek-v3"),
)  # fmt: skip
PLAN = Settings(8, tp=2, pp=2, dp=2, micro_batches=4, sequence=2048)
_SIZES = (8, 12)  # layers of each size
_NEAR = 0.05  # of the makespan
_TRIES = 10


@cache
def real(model: str, settings: Settings) -> Workload:
    """The generator's job, the truth."""
    described = catalogue.described(model)
    changes: dict[str, object] = {"num_layers": settings.layers}
    if isinstance(described, Model):
        changes = {"layers": described.layers[: settings.layers]}
    elif described.moe_layer_freq is not None:
        changes["moe_layer_freq"] = described.moe_layer_freq[: settings.layers]
    made = model_of(described.replace(**changes))
    return train(made, settings.plan, min(settings.sequence, made.sequence))


def seen(model: str, settings: Settings) -> Observed:
    return observed(real(model, settings), model)


def redrawn(job: Observed, tier: str, seed: int) -> Observed:
    """Drawn by what was fitted to the job alone."""
    (drawn,) = sample(fit_tier([job], tier), seed=seed)
    return observed(drawn.workload, job.family)


class Frontier(NamedTuple):
    family: Found
    makespan: list[float]
    exposed: list[float]
    ordered: float
    group_bytes: float
    within: float


def architectures() -> list[list[Observed]]:
    found = []
    for pair in FAMILIES:
        sizes = [PLAN._replace(layers=layers) for layers in _SIZES]
        found.append([seen(model, of) for model, of in zip(pair, sizes, strict=True)])
    return found


def family_found(hidden: Sequence[Sequence[Trace]]) -> Found:
    """Each size is known at the other."""
    marks = [[mark(trace) for trace in pair] for pair in hidden]
    found = []
    for size in (0, 1):
        known = [(pair[1 - size], {"family": n}) for n, pair in enumerate(marks)]
        targets = [(pair[size], {"family": n}) for n, pair in enumerate(marks)]
        found.append(attack(known, targets)["family"])
    best = max(found, key=lambda one: one.best)
    mean = sum(one.mean for one in found) / 2
    return Found(mean, sum(one.best for one in found) / 2, best.best_method, found[0].chance)


def frontier(jobs: Sequence[Sequence[Observed]], tier: str) -> Frontier:
    drawn = [[redrawn(job, tier, n) for n, job in enumerate(pair)] for pair in jobs]
    pairs = [
        (a, b) for one, two in zip(jobs, drawn, strict=True) for a, b in zip(one, two, strict=True)
    ]
    runs = [([run_on(c, a) for c in CLUSTERS], [run_on(c, b) for c in CLUSTERS]) for a, b in pairs]
    rows = behaviours(runs)
    return Frontier(
        family_found([[job.traces[0] for job in pair] for pair in drawn]),
        [row.makespan for row in rows],
        [row.exposed for row in rows],
        sum(is_ordered(a, b) for a, b in runs) / len(runs),
        max(bytes_apart(a, b) for a, b in pairs),
        sum(_is_near(a, b) for a, b in runs) / len(runs),
    )


def told_by_utility(jobs: Sequence[Sequence[Observed]]) -> float:
    """The share of families found by what equal utility keeps, each number up to `_NEAR` off by
    chance: makespans, exposed communication, bytes of groups, over the first makespan.
    """
    random = Random(0)
    seen = [[_kept(job) for job in pair] for pair in jobs]
    right = []
    for size in (0, 1) * _TRIES:
        off = [[_off(kept, random) for kept in pair] for pair in seen]
        for family, pair in enumerate(off):
            far = [_apart(other[1 - size], pair[size]) for other in off]
            right.append(far.index(min(far)) == family)
    return sum(right) / len(right)


def _kept(job: Observed) -> dict[str, float]:
    runs = [run_on(cluster, job) for cluster in CLUSTERS]
    found = {name: size for name, size in group_bytes(job).items() if size > TINY_BYTES}
    for at, run in enumerate(runs):
        found |= {f"makespan {at}": run.makespan_ns, f"exposed {at}": run.exposed_ns}
    return {name: value / runs[0].makespan_ns for name, value in found.items()}


def _off(kept: Mapping[str, float], random: Random) -> dict[str, float]:
    return {name: log2(v * random.uniform(1 - _NEAR, 1 + _NEAR)) for name, v in kept.items() if v}


def _apart(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    names = {*one, *other}
    return sum(abs(one.get(n, 0.0) - other.get(n, 0.0)) for n in names) / len(names)


def _is_near(real: Sequence[Ran], drawn: Sequence[Ran]) -> bool:
    return all(
        abs(b.makespan_ns - a.makespan_ns) <= _NEAR * a.makespan_ns
        and abs(b.exposed_ns - a.exposed_ns) <= _NEAR * a.makespan_ns
        for a, b in zip(real, drawn, strict=True)
    )


def hidden_by_level(jobs: Sequence[Sequence[Observed]], level: int) -> list[list[Trace]]:
    from yantra.tracing.inspect.rank_traces import RankTrace
    from yantra.tracing.obfuscate import obfuscate

    found = []
    for number, pair in enumerate(jobs):
        hidden = []
        for size, job in enumerate(pair):
            trace = _workload(job).trace(0)
            if level:
                key = f"key {number} {size}".encode()
                trace = obfuscate([RankTrace(0, "0", trace)], level=level, key=key).traces[0]
            hidden.append(trace)
        found.append(hidden)
    return found


def shared(jobs: Sequence[Sequence[Observed]]) -> tuple[list[list[Trace]], float]:
    """As `yantra trace share` gives them, and the share of jobs within `_NEAR` on its clusters."""
    found, fine = [], 0
    for number, pair in enumerate(jobs):
        hidden = []
        for size, job in enumerate(pair):
            made = _shared(job, f"key {number} {size}")
            hidden.append(made.traces[0])
            fine += all(max(abs(c.makespan), abs(c.exposed)) <= _NEAR for c in made.clusters)
        found.append(hidden)
    return found, fine / sum(map(len, jobs))


def _shared(job: Observed, key: str, tries: int | None = None) -> Shared:
    from yantra.run.share import CALLS, share_job
    from yantra.tracing.inspect.rank_traces import RankTrace

    of = _workload(job)
    traces = [RankTrace(rank, str(rank), of.trace(rank)) for rank in range(of.ranks)]
    members = {str(name): ranks for name, ranks in of.communicators().items()}
    return share_job(traces, key.encode(), members, calls=CALLS[:tries])


def _workload(job: Observed) -> Workload:
    assert isinstance(job.played, Templates)
    workload: Workload = job.played.workload
    return workload


def chains(jobs: Sequence[Sequence[Observed]]) -> list[list[Trace]]:
    return [
        [
            markov(_workload(job), Random(f"{n} {size}")).template("all")
            for size, job in enumerate(pair)
        ]
        for n, pair in enumerate(jobs)
    ]


def sizes_found(hide: Callable[[Observed, int], Trace]) -> dict[str, Found]:
    """The attack on layers and width (of models), by jobs that are known at every size."""
    widths = ("gpt3-1.3b", "llama2-7b", "llama3-8b", "llama2-13b")
    jobs = [
        (seen(model, PLAN._replace(layers=layers)), {"layers": layers, "width": width})
        for width, model in enumerate(widths)
        for layers in (8, 12, 16, 24)
    ]
    known: list[tuple[Mark, Mapping[str, Hashable]]] = []
    targets: list[tuple[Mark, Mapping[str, Hashable]]] = []
    for number, (job, secrets) in enumerate(jobs):
        known.append((mark(hide(job, 2 * number)), secrets))
        targets.append((mark(hide(job, 2 * number + 1)), secrets))
    return attack(known, targets)


def parallelism_found(hide: Callable[[Observed, int], Trace]) -> Found:
    """The attack on the split of four ranks, of jobs of other sizes than those known."""
    known: list[tuple[Mark, Mapping[str, Hashable]]] = []
    targets: list[tuple[Mark, Mapping[str, Hashable]]] = []
    for number, model in enumerate(("gpt3-1.3b", "llama2-7b", "llama3-8b", "qwen3-32b")):
        for layers, some in ((8, known), (12, targets)):
            for at, (tp, pp, dp) in enumerate(((4, 1, 1), (2, 2, 1), (2, 1, 2), (1, 2, 2))):
                job = seen(model, PLAN._replace(layers=layers, tp=tp, pp=pp, dp=dp))
                split = {"parallelism": (tp, pp, dp)}
                some.append((mark(hide(job, 64 * number + layers + at)), split))
    return attack(known, targets)["parallelism"]


DEVICES = {"a": (100e12, 1e12), "b": (250e12, 2e12), "c": (500e12, 2e12), "d": (1000e12, 4e12)}
"""Operations and bytes a second of the hardware that jobs were recorded on."""


def hardware_found(hide: Callable[[Observed, int], Trace]) -> Found:
    """The attack on the hardware of jobs with times, of other sizes than those known."""
    known: list[tuple[Mark, Mapping[str, Hashable]]] = []
    targets: list[tuple[Mark, Mapping[str, Hashable]]] = []
    for number, model in enumerate(("gpt3-1.3b", "llama2-7b", "llama3-8b", "qwen3-32b")):
        for layers, some in ((8, known), (12, targets)):
            for name, speeds in DEVICES.items():
                job = timed(seen(model, PLAN._replace(layers=layers)), *speeds)
                seed = 64 * number + 4 * layers + len(some)
                some.append((mark(hide(job, seed)), {"hardware": name}))
    return attack(known, targets)["hardware"]


def timed(job: Observed, peak: float, rate: float) -> Observed:
    """A job recorded on a device of a peak (operations a second) and a rate (bytes a second)."""
    workload = _workload(job)
    templates = {}
    for name in workload.templates:
        nodes = list(workload.template(name))
        for node in nodes:
            if node.type == NodeType.COMP:
                ops, moved = (int(str(node.get(key))) for key in ("num_ops", "tensor_size"))
                took = max(ops / peak, moved / rate)
                node.set("duration_ns", round(took * 1e9))
                node.duration_micros = round(took * 1e6)
        templates[name] = Trace(nodes)
    made = Workload(
        grids=workload.grids,
        groups=workload.groups,
        classes=workload.classes,
        templates=templates,
        sections={"about": workload.about},
    )
    return observed(made, job.family)


def settings_drawn(random: Random, shared: bool = False) -> Iterator[Settings]:
    """Of up to 16 ranks; `shared`: with experts over ranks."""
    while True:
        made = Settings(
            random.choice((8, 12, 16, 24)), random.choice((1, 2, 4)), 1, random.choice((1, 2, 4)),
            random.choice((1, 2, 4)), random.choice((1, 2, 4)) if shared else 1, 0,
            random.choice((1, 2)), random.choice((2, 4, 8)), random.choice((512, 1024, 2048)),
        )  # fmt: skip
        if 2 <= made.plan.ranks <= 16 and made.tp * made.dp % made.ep == 0:
            yield made


class WhatIf(NamedTuple):
    """Of makespans; `winner`: how often the faster of two topologies is the same."""

    median: float
    worst: float
    spearman: float
    winner: float


def what_if(model: str, tier: str, fitted: int = 24, asked: int = 40) -> WhatIf:
    """Fit some settings, draw at others, run both."""
    settings = list(
        dict.fromkeys(_first(settings_drawn(Random(0), "x" in model), 4 * (fitted + asked)))
    )
    rules = fit_tier([seen(model, one) for one in settings[:fitted]], tier)
    one: list[list[float]] = []
    other: list[list[float]] = []
    for number, at in enumerate(settings[fitted : fitted + asked]):
        words = [f"{name}={value}" for name, value in at._asdict().items()]
        (drawn,) = sample(rules, words, seed=number)
        for job, times in ((seen(model, at), one), (observed(drawn.workload, ""), other)):
            times.append([run_on(cluster, job).makespan_ns for cluster in CLUSTERS[1:]])
    pairs = [(a, b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True)]
    errors = [abs(b / a - 1) for a, b in pairs]
    same = sum((x[0] < x[1]) == (y[0] < y[1]) for x, y in zip(one, other, strict=True))
    rank = spearman([x[0] for x in one], [y[0] for y in other])
    return WhatIf(median(errors), max(errors), rank, same / len(one))


def _first(settings: Iterator[Settings], count: int) -> list[Settings]:
    return [next(settings) for _ in range(count)]


class Privacy(NamedTuple):
    ratio: float | None
    membership: float
    copied: float
    copied_of_one: float


def privacy(tier: str, each: int = 6) -> Privacy:
    """Fit half of the jobs of five families, and look for them in as many drawn ones."""
    fitted, held = [], []
    for at, pair in enumerate(FAMILIES[2:7]):
        settings = list(dict.fromkeys(_first(settings_drawn(Random(at)), 8 * each)))[: 2 * each]
        fitted += [seen(pair[0], one) for one in settings[::2]]
        held += [seen(pair[0], one) for one in settings[1::2]]
    rules = fit_tier(fitted, tier)
    drawn = [observed(one.workload, "") for one in sample(rules, count=2 * len(fitted), seed=1)]
    shapes = [[Shape(trace) for trace in job.traces] for job in fitted]
    new = [[Shape(trace) for trace in job.traces] for job in drawn]
    every, of_one = copied([j.family for j in fitted], shapes, [s for some in new for s in some])
    far = ratio([s[0] for s in new], [s[0] for s in shapes], [Shape(j.traces[0]) for j in held])
    marks = [[mark(job.traces[0]) for job in jobs] for jobs in (drawn, fitted, held)]
    return Privacy(far, membership(*marks), every, of_one)


def valid(tier: str, count: int) -> tuple[int, int]:
    """How many of `count` samples of all families are valid, and run to the end."""
    from yantra.base.errors import YantraError
    from yantra.tracing.inspect.validate import check_traces

    jobs = [
        seen(pair[0], PLAN._replace(tp=tp, pp=pp))
        for pair in FAMILIES
        for tp, pp in ((2, 2), (1, 2))
    ]
    rules = fit_tier(jobs, tier)
    fine = ended = 0
    for drawn in sample(rules, count=count, seed=2):
        traces = [drawn.workload.trace(rank) for rank in range(drawn.workload.ranks)]
        members = {str(n): ranks for n, ranks in drawn.workload.communicators().items()}
        fine += check_traces(traces, groups=members).valid
        try:
            played = Templates(workload=drawn.workload)
            job = Observed("", "", drawn.settings, (), [], traces, played)
            ended += run_on(CLUSTERS[0], job).makespan_ns > 0
        except YantraError as error:
            print(f"  {error}")
    return fine, ended


def _print_frontier() -> None:
    jobs = architectures()
    print("family found of 10, by the mean of aspects and by the best method")
    for level in range(5):
        found = family_found(hidden_by_level(jobs, level))
        print(f"  level {level}: {found.mean:.0%}, {found.best:.0%} ({found.best_method})")
    hidden, fine = shared(jobs)
    found = family_found(hidden)
    print(f"  trace share: {found.mean:.0%}, {found.best:.0%} ({found.best_method})")
    print(f"    within {_NEAR:.0%} of the makespan on all of its clusters: {fine:.0%}")
    print(f"  what equal utility keeps: {told_by_utility(jobs):.0%}")
    found = family_found(chains(jobs))
    print(f"  Markov: {found.mean:.0%}, {found.best:.0%} ({found.best_method})")
    for tier in DRAWN:
        of = frontier(jobs, tier)
        print(f"  {tier}: {of.family.mean:.0%}, {of.family.best:.0%} ({of.family.best_method})")
        print(f"    makespan off by {_shares(of.makespan)}, exposed by {_shares(of.exposed)}")
        print(
            f"    order kept {of.ordered:.0%}, bytes of groups off by at most {of.group_bytes:.1%}"
        )
        print(f"    within {_NEAR:.0%} of the makespan on all clusters: {of.within:.0%}")
    print("layers and width found, by the mean of aspects and by the best method")
    ways: dict[str, Callable[[Observed, int], Trace]] = {"real": lambda job, _: job.traces[0]}
    ways["Markov"] = lambda job, n: markov(_workload(job), Random(n)).template("all")
    ways |= {tier: partial(_first_of, tier) for tier in DRAWN}
    ways["trace share"] = lambda job, n: _shared(job, f"key {n}", tries=1).traces[0]
    for name, hide in ways.items():
        for secret, one in sizes_found(hide).items():
            said = f"{one.mean:.0%}, {one.best:.0%} ({one.best_method})"
            print(f"  {name}, {secret}: {said}, chance {one.chance:.0%}")
        for secret, one in (
            ("hardware", hardware_found(hide)),
            ("parallelism", parallelism_found(hide)),
        ):
            said = f"{one.mean:.0%}, {one.best:.0%} ({one.best_method})"
            print(f"  {name}, {secret}: {said}, chance {one.chance:.0%}")


def _first_of(tier: str, job: Observed, seed: int) -> Trace:
    return redrawn(job, tier, seed).traces[0]


def _shares(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)


def main(arguments: Sequence[str]) -> None:
    """Print the figures: `frontier`, `what-if`, `privacy`, `valid [COUNT]`; all without a word."""
    asked = arguments[0] if arguments else ""
    if asked in ("", "frontier"):
        _print_frontier()
    for tier in DRAWN:
        if asked in ("", "what-if"):
            for model in ("llama3-8b", "mixtral-8x7b"):
                of = what_if(model, tier)
                print(
                    f"what-if, {tier}, {model}: median {of.median:.1%}, worst {of.worst:.1%}, "
                    f"Spearman {of.spearman:.3f}, same winner {of.winner:.0%}"
                )
        if asked in ("", "privacy"):
            one = privacy(tier)
            print(
                f"privacy, {tier}: ratio {one.ratio or 0:.2f}, membership {one.membership:.2f}, "
                f"motifs of 21 copied {one.copied:.1%}, of one family {one.copied_of_one:.1%}"
            )
        if asked in ("", "valid"):
            count = int(arguments[1]) if len(arguments) > 1 else 1000
            fine, ended = valid(tier, count)
            print(f"{tier}: of {count} samples {fine} valid, {ended} run to the end")


if __name__ == "__main__":
    main(sys.argv[1:])
