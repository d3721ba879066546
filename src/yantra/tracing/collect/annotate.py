"""Puts a named range into each communication operator while recording.

A kernel dispatched just before the backend's opens the range and calls that.

Waits: `Work.wait` and `wait_tensor`. The reducer waits in C++ at the end of backward; Python awaits
its works just before, in issue order, so each wait is seen.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from yantra.tracing.collect.groups import Groups
from yantra.tracing.collect.messages import (
    BLOCKING,
    OPERATORS,
    POINT_TO_POINT,
    arguments,
    message,
    results,
)
from yantra.tracing.collect.notes import COMM, WAIT, name_of
from yantra.tracing.collect.patching import patch

_KEY = "BackendSelect"  # dispatch key just before every backend's own
_ENGINE = "torch/autograd/graph.py"  # file of the frame that runs backward


class Annotator:
    """Annotates this process's communication between `start` and `stop`, once `installed`."""

    def __init__(self, torch: Any) -> None:
        self.recording = False
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []
        self._torch = torch
        self._groups = Groups(torch.distributed)
        self._reset()

    def start(self) -> None:
        self._reset()
        self.recording = True

    def stop(self) -> None:
        """Stop annotating; kernels stay wrapped until `installed` ends."""
        self.recording = False
        self._local = threading.local()

    @contextmanager
    def installed(self) -> Iterator[Annotator]:
        group = self._torch.distributed.ProcessGroup
        work = self._torch.distributed.Work
        with ExitStack() as undo:
            undo.callback(self.stop)
            self._wrap(undo, "c10d", OPERATORS, self._communicating)
            self._wrap(undo, "_c10d_functional", ["wait_tensor"], self._waiting_for_tensor)
            for name in ("wait", "synchronize", "block_current_stream"):
                patch(undo, work, name, self._waiting)
            patch(undo, work, "get_future", self._giving_future)
            patch(undo, group, "_start_coalescing", self._beginning_batch)
            patch(undo, group, "_end_coalescing", self._ending_batch)
            for name in ("_broadcast_coalesced", "_verify_params_across_processes"):
                patch(undo, self._torch.distributed, name, self._waiting_inside)
            yield self

    def _reset(self) -> None:
        self.counts.clear()
        self._ids = itertools.count()
        self._sequence: Counter[tuple[Any, ...]] = Counter()
        self._ids_of_work: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
        self._id_of_storage: dict[int, int] = {}
        self._owed: dict[int, list[Any]] = {}  # by backward: works its end waits for
        self._local = threading.local()  # .batch: ids since its begin; .work: the latest

    def _wrap(
        self, undo: ExitStack, namespace: str, names: Iterable[str], wrapper: Callable[..., Any]
    ) -> None:
        library = self._torch.library.Library(namespace, "IMPL")
        undo.callback(library._destroy)
        for name in names:
            operator = getattr(getattr(self._torch.ops, namespace), name, None)
            if operator is not None:  # not in this PyTorch
                kernel = self._kernel(wrapper, name, operator.default)
                library.impl(name, kernel, _KEY, with_keyset=True)

    def _kernel(self, wrapper: Callable[..., Any], name: str, operator: Any) -> Callable[..., Any]:
        keys_of_torch = self._torch.DispatchKey
        above = self._torch._C.DispatchKeySet(getattr(keys_of_torch, _KEY))
        has_kernel = self._torch._C._dispatch_has_kernel_for_dispatch_key
        one_for_all = has_kernel(operator.name(), "CompositeExplicitAutograd")

        def kernel(keys: Any, *values: Any) -> Any:
            backend = (
                keys_of_torch.CompositeExplicitAutograd
                if one_for_all
                else (keys - above).highestPriorityTypeId()
            )

            def call() -> Any:
                # Redispatch holds the interpreter's lock, which backend threads may need to finish.
                return operator._op_dk(backend, *values)

            return wrapper(name, operator._schema, call, values) if self.recording else call()

        return kernel

    def _communicating(
        self, name: str, schema: Any, call: Callable[[], Any], values: tuple[Any, ...]
    ) -> Any:
        try:
            given = arguments(schema, values)
            facts = self._facts(name, given)
        except Exception as error:  # never break the user's run
            self.problems.append(f"c10d::{name}: {type(error).__name__}: {error}")
            return call()
        blocking = [facts["id"]] if name in BLOCKING else []
        with self._torch.profiler.record_function(name_of(COMM, facts)), self._waits(blocking):
            result = call()
        self.counts[facts["op"]] += 1
        self._remember(facts["id"], given, result)
        return result

    def _facts(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        group = self._groups.of(self._torch.distributed.ProcessGroup.unbox(given["process_group"]))
        said = message(name, given, len(group.ranks))
        peer = group.rank_at(said.peer)
        lane: tuple[Any, ...] = (group.name,)
        if said.op in POINT_TO_POINT:
            lane = (group.name, said.op, peer, said.tag)
        self._sequence[lane] += 1
        return {
            "op": said.op,
            "pg": group.name,
            "ranks": group.ranks,
            "bytes": said.bytes,
            "dtype": said.dtype,
            "peer": peer,
            "tag": said.tag,
            "seq": self._sequence[lane] - 1,
            "async": said.asynchronous,
            "id": next(self._ids),
        }

    def _remember(self, number: int, given: Mapping[str, Any], result: Any) -> None:
        for tensor in results(given):
            self._id_of_storage[tensor.untyped_storage()._cdata] = number
        if isinstance(batch := getattr(self._local, "batch", None), list):
            batch.append(number)
        boxed = result[-1] if isinstance(result, tuple) and result else result
        if not isinstance(boxed, self._torch.ScriptObject):
            return
        work = self._torch.distributed.Work.unbox(boxed)
        self._ids_of_work[work] = [number]
        self._local.work = work  # the caller must get this object
        if _called_by_engine(4):
            self._await_after_backward(work)

    def _await_after_backward(self, work: Any) -> None:
        task = self._torch._C._current_graph_task_id()
        if task == -1:
            return
        if task not in self._owed:
            self._owed[task] = []
            engine = self._torch.autograd.Variable._execution_engine
            engine.queue_callback(lambda: self._settle(task))
        self._owed[task].append(work)

    def _settle(self, task: int) -> None:
        for work in self._owed.pop(task, ()):
            if work in self._ids_of_work:
                work.wait()

    def _waits(self, numbers: Iterable[int]) -> ExitStack:
        ranges = ExitStack()
        for number in numbers:
            name = name_of(WAIT, {"id": number})
            ranges.enter_context(self._torch.profiler.record_function(name))
        return ranges

    def _waiting(self, original: Callable[..., Any], work: Any, *rest: Any, **named: Any) -> Any:
        numbers = self._ids_of_work.pop(work, None) if self.recording else None
        if numbers is None:
            return original(work, *rest, **named)
        with self._waits(numbers):
            return original(work, *rest, **named)

    def _waiting_for_tensor(
        self, name: str, schema: Any, call: Callable[[], Any], values: tuple[Any, ...]
    ) -> Any:
        number = self._id_of_storage.pop(values[0].untyped_storage()._cdata, None)
        if number is None:
            return call()
        with self._waits([number]):
            return call()

    def _waiting_inside(self, original: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        before, self._local.batch = getattr(self._local, "batch", None), []
        try:
            return original(*rest, **named)
        finally:
            issued, self._local.batch = self._local.batch, before
            with self._waits(issued if self.recording else ()):
                pass

    def _giving_future(self, original: Callable[..., Any], work: Any) -> Any:
        if self.recording and work in self._ids_of_work:
            self._await_after_backward(work)  # reducer hook: its future is awaited in C++
        return original(work)

    def _beginning_batch(self, original: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        self._local.batch = []
        return original(*rest, **named)

    def _ending_batch(self, original: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        issued = getattr(self._local, "batch", None)
        self._local.batch = None
        work = original(*rest, **named)
        if self.recording and issued and work is not None:
            self._ids_of_work[work] = issued
        return work


def _called_by_engine(depth: int) -> bool:
    try:
        frame = sys._getframe(depth)
    except ValueError:
        return True
    return frame.f_code.co_filename.replace("\\", "/").endswith(_ENGINE)
