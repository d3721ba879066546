"""Judges every tier on jobs of the workload generator, whose truth is known at any setting:
`python -m yantra.synth.judged`.

Ten families at two sizes, of few layers, so that it takes minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from random import Random
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.scenario.types import Templates
from yantra.synth.attack import METHODS, Found, Mark, attack, found_by, mark, membership
from yantra.synth.clusters import CLUSTERS, Ran, run_on
from yantra.synth.copies import copied, ratio
from yantra.synth.judge import behaviours, bytes_apart, is_ordered, spearman
from yantra.synth.markov import markov
from yantra.synth.observe import Observed, observed
from yantra.synth.sample import sample
from yantra.synth.settings import SCHEDULES, Settings
from yantra.synth.shapes import Shape
from yantra.synth.tiers import fit_tier
from yantra.synth.told import TOLERANCES, curve
from yantra.workloads.models import catalogue
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from yantra.run.share import Shared

DRAWN = ("rules", "grammar")
WAYS = (*"01234", "Markov", "share", *DRAWN)
"""How jobs are hidden: levels of obfuscation, the chain, `trace share`, tiers."""

FAMILIES = (
    ("bert-base", "bert-large"), ("deepseek-v2-lite", "deepseek-v2"), ("gpt3-1.3b", "gpt3-13b"),
    ("llama2-7b", "llama2-70b"), ("llama3-8b", "llama3-70b"), ("qwen3-32b", "qwen3-32b"),
    ("mixtral-8x7b", "mixtral-8x22b"), ("qwen3-30b-a3b", "qwen3-235b-a22b"),
    ("gpt-530b", "gpt-1t"), ("deepseek-v3", "deepseek-v3"),
)  # fmt: skip
PLAN = Settings(8, tp=2, pp=2, dp=2, micro_batches=4, sequence=2048)
_SIZES = (8, 12)  # layers of each size
_WITH_EXPERTS = (1, 6, 7, 9)
_NEAR = 0.05  # of the makespan
_DRAWS = 8
_KNOWN = 3  # draws of a job that the attacker knows

Known = list[tuple[list[Mark], Mapping[str, Hashable]]]
Targets = list[tuple[Mark, Mapping[str, Hashable]]]


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
    """Each family at two sizes."""
    found = []
    for pair in FAMILIES:
        sizes = [PLAN._replace(layers=layers) for layers in _SIZES]
        found.append([seen(model, of) for model, of in zip(pair, sizes, strict=True)])
    return found


def family_found(draws: Sequence[Sequence[Sequence[Trace]]]) -> Found:
    """Each size is known at the other, hidden as often as there are draws; `best` is the method
    that finds most in all draws, as one of a single draw is best by luck.
    """
    marks = [[[mark(trace) for trace in pair] for pair in hidden] for hidden in draws]
    found = []
    names = [{"family": n} for n in range(len(FAMILIES))]
    for size in (0, 1):
        known = [([one[n][1 - size] for one in marks], name) for n, name in enumerate(names)]
        targets = [(one[n][size], name) for one in marks for n, name in enumerate(names)]
        found.append(attack(known, targets)["family"])
    shares = {name: mean(one.by_method[name] for one in found) for name in METHODS}
    return found_by(shares, found[0].chance)


def frontier(jobs: Sequence[Sequence[Observed]], tier: str) -> Frontier:
    """Jobs drawn `_DRAWS` times, each by its own chance; those of the first draw are run."""
    rules = [[fit_tier([job], tier) for job in pair] for pair in jobs]
    draws = []
    pairs = []
    for draw in range(_DRAWS):
        drawn = []
        for family, pair in enumerate(rules):
            seeds = (1000 * draw + 10 * family + size for size in range(len(pair)))
            made = [next(sample(of, seed=seed)) for of, seed in zip(pair, seeds, strict=True)]
            drawn.append([one.workload.template("stage0") for one in made])
            if not draw:
                own = [observed(one.workload, "") for one in made]
                pairs += list(zip(jobs[family], own, strict=True))
        draws.append(drawn)
    runs = [([run_on(c, a) for c in CLUSTERS], [run_on(c, b) for c in CLUSTERS]) for a, b in pairs]
    rows = behaviours(runs)
    return Frontier(
        family_found(draws),
        [row.makespan for row in rows],
        [row.exposed for row in rows],
        sum(is_ordered(a, b) for a, b in runs) / len(runs),
        max(bytes_apart(a, b) for a, b in pairs),
        sum(_is_near(a, b) for a, b in runs) / len(runs),
    )


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
    known: Known = []
    targets: Targets = []
    for number, (job, secrets) in enumerate(jobs):
        first = (_KNOWN + 1) * number
        known.append(([mark(hide(job, first + n)) for n in range(_KNOWN)], secrets))
        targets.append((mark(hide(job, first + _KNOWN)), secrets))
    return attack(known, targets)


def parallelism_found(hide: Callable[[Observed, int], Trace]) -> Found:
    """The attack on the split of four ranks, of jobs of other sizes than those known."""
    splits = ((4, 1, 1), (2, 2, 1), (2, 1, 2), (1, 2, 2))

    def jobs_of(model: str, layers: int) -> list[tuple[Observed, Hashable]]:
        of = PLAN._replace(layers=layers)
        return [
            (seen(model, of._replace(tp=tp, pp=pp, dp=dp)), (tp, pp, dp)) for tp, pp, dp in splits
        ]

    return _found_at_another_size(hide, "parallelism", jobs_of)


def _found_at_another_size(
    hide: Callable[[Observed, int], Trace],
    secret: str,
    jobs_of: Callable[[str, int], list[tuple[Observed, Hashable]]],
) -> Found:
    known: Known = []
    targets: Targets = []
    for model in ("gpt3-1.3b", "llama2-7b", "llama3-8b", "qwen3-32b"):
        for job, value in jobs_of(model, _SIZES[0]):
            first = _KNOWN * (len(known) + len(targets))
            marks = [mark(hide(job, first + n)) for n in range(_KNOWN)]
            known.append((marks, {secret: value}))
        for job, value in jobs_of(model, _SIZES[1]):
            first = _KNOWN * (len(known) + len(targets))
            targets.append((mark(hide(job, first)), {secret: value}))
    return attack(known, targets)[secret]


DEVICES = {"a": (100e12, 1e12), "b": (250e12, 2e12), "c": (500e12, 2e12), "d": (1000e12, 4e12)}
"""Operations and bytes a second of the hardware that jobs were recorded on."""


def hardware_found(hide: Callable[[Observed, int], Trace]) -> Found:
    """The attack on the hardware of jobs with times, of other sizes than those known."""

    def jobs_of(model: str, layers: int) -> list[tuple[Observed, Hashable]]:
        job = seen(model, PLAN._replace(layers=layers))
        return [(timed(job, *speeds), name) for name, speeds in DEVICES.items()]

    return _found_at_another_size(hide, "hardware", jobs_of)


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

    jobs = []
    for number, pair in enumerate(FAMILIES):
        some = settings_drawn(Random(number), shared=number in _WITH_EXPERTS)
        schedule = SCHEDULES[number % len(SCHEDULES)]
        for at in _first(some, 4):
            jobs.append(seen(pair[0], at._replace(zero=number % 4, schedule=schedule)))
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


def _print_told() -> None:
    for kind, rows in curve(architectures()):
        print(f"{kind}, off by up to so much: families found, off by chance and so as to mislead")
        for tolerance, (moved, misled) in zip(TOLERANCES, rows, strict=True):
            print(f"  {tolerance:.0%}: {moved:.0%}, {misled:.0%}", flush=True)


def _print_frontier(ways: Sequence[str]) -> None:
    jobs = architectures()
    print("family found of 10, by the mean of aspects and by the best method")
    for way in ways:
        if way in DRAWN:
            of = frontier(jobs, way)
            print(_said(f"{way}, {_DRAWS} draws", of.family), of.family.by_method)
            print(f"    makespan off by {_shares(of.makespan)}, exposed by {_shares(of.exposed)}")
            print(f"    order kept {of.ordered:.0%}, bytes of groups off by {of.group_bytes:.1%}")
            print(f"    within {_NEAR:.0%} on all clusters: {of.within:.0%}", flush=True)
        elif way == "share":
            hidden, fine = shared(jobs)
            print(_said("trace share", family_found([hidden])))
            print(f"    within {_NEAR:.0%} on all of its clusters: {fine:.0%}", flush=True)
        elif way == "Markov":
            print(_said(way, family_found([chains(jobs)])), flush=True)
        else:
            hidden = hidden_by_level(jobs, int(way))
            print(_said(f"level {way}", family_found([hidden])), flush=True)


def _said(what: str, found: Found) -> str:
    return f"  {what}: {found.mean:.0%}, {found.best:.0%} ({found.best_method})"


def _print_sizes(names: Sequence[str]) -> None:
    print("what else is found, by the mean of aspects and by the best method")
    ways: dict[str, Callable[[Observed, int], Trace]] = {"0": lambda job, _: job.traces[0]}
    ways["Markov"] = lambda job, n: markov(_workload(job), Random(n)).template("all")
    ways |= {tier: partial(_first_of, tier) for tier in DRAWN}
    ways["share"] = lambda job, n: _shared(job, f"key {n}", tries=1).traces[0]
    for name in (one for one in names if one in ways):
        found = sizes_found(ways[name])
        found["hardware"] = hardware_found(ways[name])
        found["parallelism"] = parallelism_found(ways[name])
        for secret, one in found.items():
            print(f"{_said(f'{name}, {secret}', one)}, chance {one.chance:.0%}", flush=True)


def _first_of(tier: str, job: Observed, seed: int) -> Trace:
    return redrawn(job, tier, seed).traces[0]


def _shares(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)


def main(arguments: Sequence[str]) -> None:
    """Print the figures of one of `frontier`, `sizes` (each: of `WAYS` or those named), `told`,
    `what-if`, `privacy`, `valid [COUNT]` (each: of all tiers or those named); all without a word.
    """
    asked, *more = arguments or [""]
    if asked in ("", "frontier"):
        _print_frontier(more or WAYS)
    if asked in ("", "sizes"):
        _print_sizes(more or WAYS)
    if asked in ("", "told"):
        _print_told()
    for tier in [one for one in more if one in DRAWN] or DRAWN:
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
            count = int(next((one for one in more if one.isdigit()), "1000"))
            fine, ended = valid(tier, count)
            print(f"{tier}: of {count} samples {fine} valid, {ended} run to the end")


if __name__ == "__main__":
    main(sys.argv[1:])
