"""Calls of the core on all cores, results in order.

Threads suffice, as the core releases the interpreter's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future, ThreadPoolExecutor

    class Stop(Protocol):
        """Ends the calls of threads that watch it."""

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
    """Yield `call(item)` of each item in order; from the first large one on, several at once.

    Items are taken ahead, two a core; `stop` is the caller's, new.
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
