"""Records host and device trace of the same steps, and a file about the collection.

Files are named when whole, so a failed run leaves no finished-looking trace.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from yantra.base.errors import ConfigError, TraceError, expected_got
from yantra.base.output import write_text
from yantra.base.pytorch import torch_for
from yantra.base.whole_numbers import whole
from yantra.chakra.files import save
from yantra.tracing.collect.annotate import Annotator
from yantra.tracing.collect.groups import described
from yantra.tracing.collect.notes import mend
from yantra.tracing.collect.other_profilers import hold_off, refuse_running

WHERE = "yantra.collect"
_open: list[Collector] = []


def current() -> Collector | None:
    return _open[0] if _open else None


class Collector:
    """Records `active` steps after `warmup` others; see `yantra.collect.collect`."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        warmup: int = 0,
        active: int = 1,
        record_shapes: bool = True,
        gzip: bool = False,
    ) -> None:
        _check("warmup", warmup, 0)
        _check("active", active, 1)
        self.folder = Path(folder)
        """Folder of the files."""
        self.warmup, self.active = warmup, active
        self.files: list[Path] = []
        """Paths written; empty before the last active step has ended."""
        self.driven = False
        """Whether something other than the script's calls ends steps."""
        self.advice: Callable[[int], str] = _advice
        """What to do when nothing was recorded after so many steps."""
        self.steps_ended = 0
        """Steps ended."""
        self._shapes, self._gzip = record_shapes, gzip
        self._undo = ExitStack()

    def __enter__(self) -> Collector:
        if _open:
            raise ConfigError(WHERE, "a collection is going on already; end it before the next")
        self._torch = torch_for(WHERE)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._draft = self._undo.enter_context(
                TemporaryDirectory(prefix=".collect.", dir=self.folder, ignore_cleanup_errors=True)
            )
        except OSError as error:
            raise ConfigError(str(self.folder), f"cannot be written: {error.strerror}") from None
        _open.append(self)
        self._undo.callback(_open.clear)
        with ExitStack() as half:
            half.push(self._undo)
            self._annotator = _annotator(self._torch)
            if self._annotator is not None:
                self._undo.enter_context(self._annotator.installed())
            self._begin()
            half.pop_all()
        return self

    def step(self) -> None:
        """End a step, begin the next; nothing after the active steps."""
        if current() is not self:
            raise ConfigError(WHERE, "this collection has ended, or has not begun")
        if self.files:
            return
        self.steps_ended += 1
        self._annotate()
        self._profiler.step()
        if self.files:
            self._profiler.stop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._undo:
            whole = self.steps_ended == 0 and self.warmup + self.active == 1
            if kind is not None or not whole:
                self._profiler.on_trace_ready = None
            if not self.files:
                self._profiler.stop()
        if kind is None and not self.files:
            raise ConfigError(
                WHERE,
                f"nothing was recorded: expected {self.warmup} steps of warm-up and {self.active} "
                f"to record, got {self.steps_ended}; {self.advice(self.steps_ended)}",
            )

    def _begin(self) -> None:
        from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

        refuse_running(self._torch, WHERE)
        self._observer = ExecutionTraceObserver().register_callback(self._path("host.json"))
        # Garbage-collected, it would end the process when the next one starts.
        self._undo.callback(self._observer.unregister_callback)
        activities = [ProfilerActivity.CPU]
        settings: dict[str, Any] = {}
        if self._torch.cuda.is_available():
            from torch._C._profiler import _ExperimentalConfig

            activities.append(ProfilerActivity.CUDA)
            settings["experimental_config"] = _ExperimentalConfig(enable_cuda_sync_events=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no warm-up: the caller's choice
            steps = schedule(wait=0, warmup=self.warmup, active=self.active, repeat=1)
        self._profiler = profile(
            activities=activities,
            schedule=steps,
            on_trace_ready=self._finish,
            record_shapes=self._shapes,
            execution_trace_observer=self._observer,
            **settings,
        )
        self._annotate()
        self._profiler.start()
        hold_off(self._torch, self._undo, self._is_foreign)

    def _is_foreign(self, profiler: Any) -> bool:
        ours = (self._profiler, self._profiler.profiler, self._observer)
        return not self.files and all(profiler is not own for own in ours)

    def _annotate(self) -> None:
        if self._annotator is None:
            return
        if self.steps_ended == self.warmup:
            self._annotator.start()
        elif self.steps_ended == self.warmup + self.active:
            self._annotator.stop()

    def _finish(self, profiler: Any) -> None:
        profiler.export_chrome_trace(self._path("device.json"))
        self._observer.unregister_callback()
        rank, world = _place(self._torch.distributed)
        ending = ".json.gz" if self._gzip else ".json"
        for kind in ("host", "device"):
            target = self.folder / f"{kind}.{rank}{ending}"
            draft = self._path(f"{kind}.json")
            data = mend(Path(draft).read_bytes()).replace(draft.encode(), target.name.encode())
            try:
                save(data, target)
            except TraceError as error:
                raise ConfigError(WHERE, str(error)) from None
            self.files.append(target)
        about = self.folder / f"collect.{rank}.json"
        write_text(about, json.dumps(self._about(rank, world), indent=1) + "\n")
        self.files.append(about)

    def _about(self, rank: int, world: int) -> dict[str, Any]:
        annotator = self._annotator
        return {
            "rank": rank,
            "world_size": world,
            "torch": str(self._torch.__version__),
            "cuda": self._torch.version.cuda,
            "warmup": self.warmup,
            "active": self.active,
            "files": [path.name for path in self.files],
            "groups": described(self._torch.distributed),
            "communications": dict(sorted(annotator.counts.items())) if annotator else {},
            "problems": annotator.problems if annotator else [],
        }

    def _path(self, name: str) -> str:
        return os.path.join(self._draft, name)


def _advice(steps_ended: int) -> str:
    return "end each step with step(), or ask for fewer"


def _annotator(torch: Any) -> Annotator | None:
    if not torch.distributed.is_available():
        return None
    return Annotator(torch)


def _place(dist: Any) -> tuple[int, int]:
    # Of the process group, else of the launcher.
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def _number(variable: str, default: int) -> int:
    found = whole(os.environ.get(variable, ""))
    return default if found is None else found


def _check(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{WHERE}({name}=)", expected_got(f"an integer >= {least}", value))
