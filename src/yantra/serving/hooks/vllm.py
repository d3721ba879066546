"""How long vLLM would take for what its scheduler has just scheduled.

Interface: `SchedulerOutput` of vLLM V1 (vllm/v1/core/sched/output.py, 0.9 and later): tokens by
request in `num_scheduled_tokens`; those computed before in `scheduled_new_reqs`, one object each,
and in `scheduled_cached_reqs`, as parallel lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yantra.serving.iteration import Predictor


def sequences(output: Any) -> Iterator[tuple[int, int]]:
    """Yield new and cached tokens of each scheduled request."""
    scheduled = output.num_scheduled_tokens
    for request in output.scheduled_new_reqs:
        yield scheduled[request.req_id], request.num_computed_tokens
    cached = output.scheduled_cached_reqs
    for name, computed in zip(cached.req_ids, cached.num_computed_tokens, strict=True):
        if name in scheduled:
            yield scheduled[name], computed


def seconds(predictor: Predictor, output: Any, *, with_host: bool = False) -> float:
    """Return the seconds of the iteration; 0 where nothing was scheduled."""
    batch = list(sequences(output))
    if not batch:
        return 0.0
    found = predictor.iteration(batch)
    return found.seconds - (0.0 if with_host else found.parts["host"])
