"""`serve`: requests on replicas of an engine on a cluster, and what their users wait for.

    said = yantra.serve("llama3-70b", "hgx-h100", "azure-conversation.csv.gz", tp=4, replicas=2)
    said.ttft.at(99.0), said.interval("ttft", 99.0), said.goodput(...)

An interval is that of the iterations: the fleet runs again with all of them as short, and as long,
as 90 of 100 are. Trade-off: errors of one machine go one way, so the ends are wider than errors of
single iterations would make them.
"""

from __future__ import annotations

from math import exp, inf
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.serving.answer import Served
from yantra.serving.blocks import Room, bytes_per_token, room_of
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.imbalance import imbalance_of
from yantra.serving.links import Line, Links
from yantra.serving.pools import BUDGETS, SEATS, Asked, asked, options_of, pool_of
from yantra.serving.tiers import tier_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yantra.fabric.clusters.types import Cluster
    from yantra.serving.capacity import Capacity
    from yantra.serving.engines import Engine
    from yantra.serving.measures import Objective
    from yantra.serving.requests import Requests

__all__ = ["serve"]
_MOST_TOKENS, _MOST_SEQUENCES = 16_384, 1_024
_AT_ONCE = 1e18  # bytes/s


class Question(NamedTuple):
    """What is served, by what, on what; `cost` in place of model and cluster gives times itself."""

    requests: Requests
    pools: tuple[tuple[str, Asked], ...]
    model: Any = None
    cluster: Cluster | None = None
    stack: str | None = None
    cost: Linear | None = None
    routing: str = "least_outstanding"
    transfer_bytes_per_s: float | None = None
    transfer_latency_s: float = 0.0
    kv_bytes_per_token: int = 0
    layerwise: bool = False
    most_under_way: int = 0
    seed: int = 1


def serve(
    model: Any = None,
    cluster: Any = None,
    requests: Any = None,
    *,
    engine: str = "vllm",
    replicas: int = 1,
    prefill: str | None = None,
    decode: str | None = None,
    routing: str = "least_outstanding",
    stack: str | None = None,
    cost: Linear | None = None,
    rate_x: float = 1.0,
    concurrency: int = 0,
    transfer_bytes_per_s: float | None = None,
    transfer_latency_s: float = 0.0,
    kv_bytes_per_token: int = 0,
    layerwise: bool = False,
    seed: int = 1,
    intervals: bool = True,
    samples: bool = False,
    **fields: Any,
) -> Served:
    """Serve requests: a file, a rule such as `poisson:rate=10/s,count=1000`, or `Requests`.

    `fields` are those of an inference plan (tp, dtype, ...) and options of the engine. `prefill`
    and `decode` are pools such as `3x tp=4`, in place of `replicas`. `rate_x` times the rate of
    arrivals; no more than `concurrency` requests are under way, if it is given. `cost` gives the
    time of an iteration in place of a model and a cluster. KV moves over the cluster's links, or at
    `transfer_bytes_per_s`, whole or `layerwise`; with a `cost` it has `kv_bytes_per_token`.

    Raises ConfigError for what does not fit together, CapacityError where no KV fits, and
    DeadlockError for requests that can never end.
    """
    from yantra.serving.requests import Requests, load

    if requests is None:
        raise ConfigError(
            "requests", "nothing is asked; give a file, or a rule such as 'poisson:rate=10/s'"
        )
    asked_for = requests if isinstance(requests, Requests) else load(requests)
    pools = _pools(engine, replicas, prefill, decode, fields)
    question = Question(
        asked_for.scaled(rate_x), pools, *_known(model, cluster, cost), stack, cost, routing,
        transfer_bytes_per_s, transfer_latency_s, kv_bytes_per_token, layerwise, concurrency, seed,
    )  # fmt: skip
    return answered(question, intervals=intervals, samples=samples)


def answered(question: Question, *, intervals: bool = True, samples: bool = False) -> Served:
    """Run the fleet of a question, and again at both ends of its interval."""
    fleet, rooms = fleet_of(question)
    return ran_on(question, fleet, rooms, intervals=intervals, samples=samples)


def ran_on(
    question: Question,
    fleet: Fleet,
    rooms: tuple[Room | None, ...],
    *,
    intervals: bool = True,
    samples: bool = False,
) -> Served:
    """Run a question on its fleet, as `answered` does."""
    best = fleet.run(question.requests, samples=samples)
    widest = max((getattr(pool.cost, "interval", 0.0) for pool in fleet.pools), default=0.0)
    ends = None
    if intervals and widest > 0:
        ends = tuple(
            fleet.run(question.requests, factor=factor) for factor in (exp(-widest), exp(widest))
        )
    return Served(question, fleet, rooms, best, ends)


def at_most(served: Served, objectives: Sequence[Objective]) -> tuple[Served, Capacity]:
    """Serve the same requests at the highest rate that keeps every promise.

    Raises ConfigError where no rate does.
    """
    from yantra.serving.capacity import capacity

    question = served.question
    found = capacity(served.fleet, question.requests, objectives)
    if not found.factor:
        raise ConfigError("--rate", "no rate keeps the promises; even a lone request breaks one")
    scaled = question._replace(requests=question.requests.scaled(found.factor))
    return ran_on(scaled, served.fleet, served.rooms), found


def fleet_of(question: Question) -> tuple[Fleet, tuple[Room | None, ...]]:
    """Return the fleet of a question, and the room for KV of each pool."""
    pools, rooms, shared = [], [], 0
    for role, pool in question.pools:
        made, room, pool_blocks = _pool(question, role, pool)
        pools.append(made)
        rooms.append(room)
        shared = max(shared, pool_blocks)
    line = None
    if any(role == "decode" for role, _ in question.pools):
        line = line_of(question)
    chances = [pool.acceptance for _, pool in question.pools if pool.acceptance is not None]
    fleet = Fleet(
        tuple(pools), question.routing, question.seed, line, shared,
        chances[-1] if chances else None, question.most_under_way,
    )  # fmt: skip
    return fleet, tuple(rooms)


def _pools(
    engine: str, replicas: int, prefill: str | None, decode: str | None, fields: Mapping[str, Any]
) -> tuple[tuple[str, Asked], ...]:
    given = {name: value for name, value in fields.items() if value is not None}
    if prefill is None and decode is None:
        return (("both", asked(replicas, engine, given, "serve")),)
    if prefill is None or decode is None:
        missing = "prefill" if prefill is None else "decode"
        raise ConfigError(missing, "pools of prefill and decode go together; give both")
    if replicas != 1:
        raise ConfigError(
            "replicas", "the pools say how many there are, such as --prefill '3x tp=4'"
        )
    return (
        ("prefill", pool_of(prefill, engine, given, "prefill")),
        ("decode", pool_of(decode, engine, given, "decode")),
    )


def _known(model: Any, cluster: Any, cost: Linear | None) -> tuple[Any, Cluster | None]:
    from yantra.fabric.clusters import load as load_cluster
    from yantra.workloads.models.catalogue import find

    if cost is not None:
        if model is not None or cluster is not None:
            raise ConfigError(
                "cost", "it stands in place of a model on a cluster; give one of both"
            )
        return None, None
    if model is None or cluster is None:
        missing = "model" if model is None else "cluster"
        raise ConfigError(missing, "expected a model and a cluster, or the cost of an iteration")
    found = find(model) if isinstance(model, str) else model
    return found, load_cluster(cluster) if isinstance(cluster, str) else cluster


def _pool(question: Question, role: str, pool: Asked) -> tuple[Pool, Room | None, int]:
    plan = pool.plan
    known = options_of(pool.engine)
    options = dict(pool.options)
    if "block_size" in known:
        options.setdefault("block_size", float(plan.block_size))
    room, shared = None, 0
    cost: Any = question.cost
    if cost is None:
        assert question.cluster is not None
        tokens = _first((*BUDGETS, "chunk_size"), options, known, _MOST_TOKENS)
        room = room_of(question.model, question.cluster, plan, min(tokens, _longest(question)))
        cost = _measured(question, pool, tokens, _first(SEATS, options, known, _MOST_SEQUENCES))
        if "num_blocks" in known:
            options.setdefault("num_blocks", float(room.blocks))
        if "kv_tokens" in known:
            options.setdefault("kv_tokens", float(room.tokens))
        if pool.tiers:
            shared = _add_tiers(options, known, pool, room, question.cluster, cost)
    elif pool.tiers:
        raise ConfigError(
            next(iter(pool.tiers)), "needs a model and a cluster, whose KV has a size"
        )
    made = Pool(
        pool.engine, options, cost, pool.replicas, role,  # type: ignore[arg-type]
        plan.dp, plan.pp, plan.ranks, _starts(pool), () if pool.fail_s is None else (pool.fail_s,),
        pool.scaling,
    )  # fmt: skip
    return made, room, shared


def _starts(pool: Asked) -> tuple[float, ...]:
    if pool.scaling is None:
        return (pool.start_s,) * pool.replicas
    later = pool.replicas - pool.scaling.least
    return (pool.start_s,) * pool.scaling.least + (inf,) * later


def _add_tiers(
    options: dict[str, float],
    known: Mapping[str, Any],
    pool: Asked,
    room: Room,
    cluster: Any,
    cost: Any,
) -> int:
    """Add what tiers are to the options of an engine; return the blocks of the shared pool."""
    if "host_blocks" not in known:
        raise UnsupportedError(
            f"{next(iter(pool.tiers))}: {pool.engine} has no tiers of KV here; vllm has"
        )
    tables = cost.tables
    token_s = float((tables.dense_ns / tables.dense_tokens).min()) / 1e9
    found = tier_options(pool.tiers, room, cluster, pool.plan.tp, token_s)
    options.update(found.engine)
    return found.pool_blocks


def _first(
    names: Sequence[str], options: Mapping[str, float], known: Mapping[str, Any], fallback: int
) -> int:
    for name in names:
        if name in known:
            value = options.get(name, known[name][0])
            if value > 0:
                return int(value)
    return fallback


def _longest(question: Question) -> int:
    return max(int(question.requests.prompt.max()), 2)


def _measured(question: Question, pool: Asked, tokens: int, seats: int) -> Any:
    from yantra.serving.iteration import Predictor
    from yantra.serving.speeds import Measured

    plan = pool.plan
    if plan.pp > 1 and (pool.engine != "vllm" or plan.dp > 1):
        raise UnsupportedError(
            "pp: several batches under way in a pipeline are simulated for vllm with dp=1 alone; "
            "take pp=1 and more tp"
        )
    name, host = _host_of(pool)
    predictor = Predictor(question.model, question.cluster, plan, stack=question.stack, engine=name)
    context = int((question.requests.prompt + question.requests.output).max())
    tables = predictor.tables(max(tokens, 2), max(seats, 2), max(context, 2))
    made = Measured(tables, predictor.interval, "")
    if pool.imbalance:
        experts, ranks = _experts(question.model), plan.ep * plan.etp
        made = made.with_experts(imbalance_of(pool.imbalance, experts, ranks))
    drafts = pool.options.get("num_speculative_tokens", 0)
    if drafts and pool.draft == "mtp":
        made = made.with_layers(drafts / len(question.model.layers))
    rests_on = f"measured kernels and collectives, {host.title}"
    if host.scheduler != pool.engine:
        rests_on += f", whose host times {pool.engine} is given"
    return made._replace(rests_on=rests_on, power_w=predictor.power_w)


def _host_of(pool: Asked) -> tuple[str, Engine]:
    """Return whose host and kernels a pool has: what it names, or those of its scheduler."""
    from yantra.serving import engines

    if pool.host:
        return pool.host, engines.load(pool.host)
    known = {name: engines.load(name) for name in engines.names()}
    found = (name for name, one in known.items() if one.scheduler == pool.engine)
    name = next(found, "vllm")
    return name, known[name]


def _experts(model: Any) -> int:
    from yantra.workloads.models.experts import experts_of

    if (count := experts_of(model)) is None:
        raise ConfigError("imbalance", f"{model.name} has no routed experts")
    return count


def line_of(question: Question) -> Line | Links:
    """Return what KV goes over: the cluster's links, or a line of the rate that is given."""
    rate = question.transfer_bytes_per_s
    if question.model is None or question.cluster is None:
        return Line(question.kv_bytes_per_token, rate or _AT_ONCE, question.transfer_latency_s)
    per_token = bytes_per_token(question.model, dict(question.pools)["prefill"].plan)
    layers = len(question.model.layers) if question.layerwise else 1
    if rate is not None:
        return Line(per_token, rate, question.transfer_latency_s, layers)
    return Links(per_token, question.cluster, layers)
