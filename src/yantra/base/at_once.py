"""Calls of the core on all cores, with their results in order.

The core releases the interpreter's lock, so threads are enough. Trade-off: a thread pays from tens
of microseconds a call; smaller calls run here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    class Stop(Protocol):
        """What ends calls of the threads that hear it, once it is said."""

        def hear(self) -> None: ...
        def say(self) -> None: ...


Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_order(
    call: Callable[[Item], Answer],
    items: Iterable[Item],
    is_large: Callable[[Item], bool],
    stop: Stop,
) -> Iterator[Answer]:
    """Yield `call(item)` of each item, in order; from the first large one on, several at once.

    What a call raises is raised at its place, and so is what `items` raises. Items are asked for
    ahead, two for each core. `stop` is the caller's, as new.
    """
    at_once = 0
    pool: ThreadPoolExecutor | None = None
    pending: list[Future[Answer]] = []  # a few
    source = iter(items)
    try:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception:
                while pending:  # one of them may raise, and comes first
                    yield pending.pop(0).result()
                raise
            if at_once == 0 and is_large(item):
                from yantra.base.cores import cores

                at_once = cores()
            if at_once <= 1:
                yield call(item)
                continue
            if pool is None:
                from concurrent.futures import ThreadPoolExecutor

                pool = ThreadPoolExecutor(at_once, initializer=stop.hear)
            pending.append(pool.submit(call, item))
            if len(pending) > 2 * at_once:
                yield pending.pop(0).result()
        while pending:
            yield pending.pop(0).result()
    finally:
        if pool is not None:
            stop.say()
            pool.shutdown(wait=True, cancel_futures=True)
