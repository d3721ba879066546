"""Random jobs of post-training, small enough to walk tick by tick."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.laws import Law, Ticks


def groups(most: int = 10, turns: int = 1) -> st.SearchStrategy[Groups]:
    sample: st.SearchStrategy[Any] = st.tuples(st.integers(1, 20), st.integers(0, 6))
    if turns > 1:
        turn = st.tuples(st.integers(1, 8), st.integers(0, 40), st.integers(0, 3))
        several = st.lists(turn, min_size=1, max_size=turns)
        agent = st.builds(lambda t, r: (sum(one[0] for one in t), r, t), several, st.integers(0, 6))
        sample = st.one_of(sample, agent)
    samples = st.lists(sample, min_size=1, max_size=4)
    rows = st.tuples(st.integers(1, 5), samples, st.sampled_from([False, False, False, True]))
    return st.lists(rows, min_size=1, max_size=most).map(Groups.of)


def laws(base: int) -> st.SearchStrategy[Law]:
    return st.builds(Law, st.integers(0, base), st.integers(0, 1), st.sampled_from([0, 0, 1]))


ticks = st.builds(Ticks, st.integers(1, 8), st.integers(0, 2), st.sampled_from([0, 0, 1]))


@st.composite
def jobs(draw: st.DrawFn, /, loop: str | None = None, **fixed: Any) -> Job:
    loop = loop or draw(st.sampled_from(["sync", "k-off", "async", "partial"]))
    both = ["split", "colocated"] if loop in ("sync", "partial") else ["split"]
    minibatches, each = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    given: dict[str, Any] = {
        "loop": loop,
        "groups": draw(groups()),
        "placement": draw(st.sampled_from(both)),
        "replicas": draw(st.integers(1, 3)),
        "seats": draw(st.integers(1, 4)),
        "routing": draw(st.sampled_from(["shared", "round-robin", "least"])),
        "steps": draw(st.integers(1, 5)),
        "groups_per_step": minibatches * each,
        "groups_per_minibatch": each,
        "reward_servers": draw(st.sampled_from([None, 1, 2])),
        "reward_overlap": draw(st.booleans()),
        "refit": draw(st.integers(0, 30)),
        "refit_rule": draw(st.sampled_from(["drain", "pause", "in-flight"])),
        "kv": draw(st.sampled_from(["keep", "recompute"])),
        "order": draw(st.sampled_from([None, "accepted", "submitted"])),
        "iteration": draw(ticks),
        "logp": draw(laws(10)),
        "ref": draw(laws(5)),
        "train": draw(laws(40)),
    }
    if given["placement"] == "colocated":
        given["switch"] = draw(st.integers(0, 5))
    if loop == "sync":
        given["refill"] = draw(st.sampled_from(["one", "round"]))
    given |= draw(_of_loop(loop, given["groups_per_step"]))
    return Job(**given | fixed)


@st.composite
def limited(draw: st.DrawFn, /) -> Job:
    """A job of agents, whose replicas have little memory and small iterations."""
    made = draw(groups(turns=3))
    job = draw(jobs(groups=made))
    least = int(made.tokens.max())
    return job.replace(
        kv_tokens=draw(st.one_of(st.none(), st.integers(least, 3 * least))),
        iteration_tokens=draw(st.one_of(st.none(), st.integers(job.seats, job.seats + 6))),
        share_prompts=draw(st.booleans()),
    )


@st.composite
def _of_loop(draw: st.DrawFn, /, loop: str, most: int) -> dict[str, Any]:
    if loop == "k-off":
        return {"k": draw(st.integers(0, 3)), "max_age": draw(st.sampled_from([None, 1]))}
    if loop == "partial":
        age = draw(st.sampled_from([None, 0, 1]))
        return {"in_flight_groups": most + draw(st.integers(0, 3)), "max_age": age}
    if loop == "sync":
        return {}
    found: dict[str, Any] = {"max_concurrent": draw(st.integers(1, 6))}
    found["feed"] = draw(st.sampled_from(["capacity", "buffer"]))
    found["staleness"] = draw(st.integers(0, 3))
    age = st.integers(1, 3)
    found["max_age"] = draw(age if found["feed"] == "buffer" else st.one_of(st.none(), age))
    return found
