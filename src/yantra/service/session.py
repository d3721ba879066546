"""What the API does: one upload, configuration and run at a time, for all clients."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Literal, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.service import archive, files
from yantra.service.archive import ArchiveLimits
from yantra.service.folders import Root, shown
from yantra.service.job import LOG
from yantra.service.worker import Worker

Status = Literal["inactive", "running", "completed", "failed", "terminated"]

_ANALYTICAL = "analytical_"
_ANSWER_WITHIN_S = 1.0  # a run that ends sooner has ended when `start` returns
_BLOCK = 1 << 20


class BusyError(Exception):
    """A simulation runs, so nothing may change; only a service's caller sees this."""


class MissingError(Exception):
    """What is asked for does not exist."""


class Limits(NamedTuple):
    """A client's limits: for an upload, and a run."""

    archive: ArchiveLimits = ArchiveLimits()
    time_s: float = 600.0
    memory_bytes: int | None = None


class Session:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.RLock()
        self._changing = threading.Lock()
        self._folder = Root()
        self._root = self._folder.path
        self._results = os.path.join(self._root, "results")
        self._upload = os.path.join(self._root, "upload")
        self._configuration = os.path.join(self._root, "configuration")
        for folder in (self._results, self._upload, self._configuration):
            os.mkdir(folder)
        self._prepared: files.Prepared | None = None
        self._status: Status = "inactive"
        self._spare: Worker | None = Worker()
        self._running: Worker | None = None

    def close(self) -> None:
        with self._lock:
            for worker in (self._running, self._spare):
                if worker is not None:
                    worker.end()
            self._running = self._spare = None
            self._folder.close()

    def shown(self, text: str) -> str:
        return shown(text, self._root)

    def upload(self, data: bytes) -> str:
        self._check_idle()
        with self._changing, self._fresh() as fresh, self._fresh() as empty:
            found = archive.unpack(data, fresh, self._limits.archive)
            with self._lock:
                self._check_idle()
                self._put(fresh, self._upload)
                self._put(empty, self._configuration)
                self._prepared = None
                self._empty_results()
                self._status = "inactive"
        return f"{count(len(found), 'file')} uploaded"

    def configure(self, config: dict[str, Any]) -> tuple[str, ...]:
        self._check_idle()
        with self._changing, self._fresh() as fresh:
            prepared = files.prepare(config, self._upload, fresh)
            with self._lock:
                self._check_idle()
                self._put(fresh, self._configuration)
                self._prepared = prepared.moved(fresh, self._configuration)
        return tuple(self.shown(text) for text in prepared.warnings)

    def configuration(self) -> IO[bytes]:
        with self._changing:
            return archive.pack(self._upload, self._configuration)

    @property
    def status(self) -> Status:
        return self._status

    def start(self, backend: str) -> None:
        with self._lock:
            self._check_idle()
            prepared = self._prepared
            if prepared is None:
                raise ConfigError("start", "nothing is configured; call set_config first")
            _check_backend(backend, prepared.backend)
            self._empty_results()
            spare, self._spare = self._spare, None
            worker = spare if spare is not None and spare.is_alive else Worker()
            self._status, self._running = "running", worker
            worker.start(
                {
                    "backend": backend,
                    "options": prepared.options,
                    "warnings": prepared.warnings,
                    "root": self._root,
                    "results": self._results,
                    "memory_limit": self._limits.memory_bytes,
                    "time_limit_s": self._limits.time_s,
                }
            )
        watcher = threading.Thread(target=self._watch, args=(worker,), daemon=True)
        watcher.start()
        watcher.join(_ANSWER_WITHIN_S)

    def stop(self) -> None:
        with self._lock:
            worker = self._running
            if worker is None:
                raise ConfigError("stop", "no simulation is running")
            self._status = "terminated"
            self._ended(worker)

    def results(self) -> list[dict[str, Any]]:
        """Name, size, MD5 and time of the last run's files."""
        with self._lock:
            entries = sorted(os.scandir(self._results), key=lambda entry: entry.name)
            names = [one.name for one in entries if one.is_file()]
            opened = [(name, self.result(name)) for name in names]
        return [_described(name, file) for name, file in opened]

    def result(self, name: str) -> IO[bytes]:
        with self._lock:
            names = sorted(entry.name for entry in os.scandir(self._results) if entry.is_file())
            if name not in names:
                have = ", ".join(names) or "none"
                raise MissingError(f"no result is named {name!r}; there are: {have}")
            return open(os.path.join(self._results, name), "rb")

    def _check_idle(self) -> None:
        if self._running is not None:
            raise BusyError("a simulation is already running; stop it or wait for its end")

    def _watch(self, worker: Worker) -> None:
        status = worker.wait(self._limits.time_s)
        if status is None:
            worker.end()
            self._say(
                f"error: takes longer than the limit of {format_time(self._limits.time_s * 1e9)}"
            )
        with self._lock:
            if self._running is not worker:
                return
            if self._status == "running":
                self._status = "completed" if status == 0 else "failed"
            self._ended(worker)

    def _ended(self, worker: Worker) -> None:
        worker.end()
        self._running, self._spare = None, Worker()

    def _say(self, text: str) -> None:
        with open(os.path.join(self._results, LOG), "a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    @contextmanager
    def _fresh(self) -> Iterator[str]:
        fresh = tempfile.mkdtemp(prefix="fresh-", dir=self._root)
        try:
            yield fresh
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _put(self, fresh: str, folder: str) -> None:
        old = tempfile.mkdtemp(prefix="old-", dir=self._root)
        os.rename(folder, old)
        os.rename(fresh, folder)
        os.rename(old, fresh)

    def _empty_results(self) -> None:
        shutil.rmtree(self._results, ignore_errors=True)
        os.mkdir(self._results)
        # Clients fetch the log even of a run that never began.
        open(os.path.join(self._results, LOG), "w").close()


def _check_backend(asked: str, prepared: str) -> None:
    if asked == prepared:
        return
    if asked.startswith(_ANALYTICAL) and prepared.startswith(_ANALYTICAL):
        return  # both take the same files
    raise ConfigError("control.start.backend", expected_got(f"{prepared}, as configured", asked))


def _described(name: str, file: IO[bytes]) -> dict[str, Any]:
    with file:
        status = os.fstat(file.fileno())
        made = time.localtime(status.st_mtime)
        return {
            "filename": name,
            "size": status.st_size,
            "checksum": _md5(file),
            "created": time.strftime("%Y-%m-%d %H:%M:%S", made),
        }


def _md5(file: IO[bytes]) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()
