"""What the API does: one upload, one configuration and one run at a time, for all clients.

The upload, the files of the configuration and the results have folders of their own in a temporary
folder that nobody else can read. An upload takes the place of the one before only when all of it
has been unpacked, and a configuration only when all of it has been written.
"""

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
from yantra.service.job import LOG
from yantra.service.worker import Worker

Status = Literal["inactive", "running", "completed", "failed", "terminated"]

_ANALYTICAL = "analytical_"
_ANSWER_WITHIN_S = 1.0  # a run that ends sooner has ended when `start` is answered
_BLOCK = 1 << 20


class BusyError(Exception):
    """A simulation runs, so nothing of it may change; only a caller of the service hears of it."""


class MissingError(Exception):
    """What is asked for is not there."""


class Limits(NamedTuple):
    """What a client may take: of an upload, and of one run."""

    archive: ArchiveLimits = ArchiveLimits()
    time_s: float = 600.0
    memory_bytes: int | None = None


class Session:
    """The state of the service. Every method may be called from any thread."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.RLock()
        self._root = tempfile.mkdtemp(prefix="yantra-service-")
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
        """End what runs and remove every file."""
        with self._lock:
            for worker in (self._running, self._spare):
                if worker is not None:
                    worker.end()
            self._running = self._spare = None
            shutil.rmtree(self._root, ignore_errors=True)

    def upload(self, data: bytes) -> str:
        """Take an archive of traces in place of what was uploaded before."""
        with self._lock:
            self._idle()
            with self._replacing(self._upload) as fresh:
                found = archive.unpack(data, fresh, self._limits.archive)
            with self._replacing(self._configuration):
                self._prepared = None
            self._empty_results()
            self._status = "inactive"
        return f"{count(len(found), 'file')} uploaded"

    def configure(self, config: dict[str, Any]) -> tuple[str, ...]:
        """Make ASTRA-sim's files of a configuration; return the warnings."""
        with self._lock:
            self._idle()
            with self._replacing(self._configuration) as fresh:
                prepared = files.prepare(config, self._upload, fresh)
            self._prepared = prepared.moved(fresh, self._configuration)
            return prepared.warnings

    def configuration(self) -> IO[bytes]:
        """Return the uploaded files and those of the configuration as an archive."""
        with self._lock:
            return archive.pack(self._upload, self._configuration)

    @property
    def status(self) -> Status:
        """How the last run went."""
        return self._status

    def start(self, backend: str) -> None:
        """Run the configuration; wait a moment, for most runs are short."""
        with self._lock:
            self._idle()
            prepared = self._prepared
            if prepared is None:
                raise ConfigError("start", "nothing is configured; call set_config first")
            _check_backend(backend, prepared.backend)
            self._empty_results()
            worker, self._spare = self._spare or Worker(), None
            self._status, self._running = "running", worker
            worker.start(
                {
                    "backend": backend,
                    "options": prepared.options,
                    "warnings": prepared.warnings,
                    "results": self._results,
                    "memory_limit": self._limits.memory_bytes,
                    "time_limit_s": self._limits.time_s,
                }
            )
        watcher = threading.Thread(target=self._watch, args=(worker,), daemon=True)
        watcher.start()
        watcher.join(_ANSWER_WITHIN_S)

    def stop(self) -> None:
        """End the run."""
        with self._lock:
            worker = self._running
            if worker is None:
                raise ConfigError("stop", "no simulation is running")
            self._status = "terminated"
            self._ended(worker)

    def results(self) -> list[dict[str, Any]]:
        """Return name, size, MD5 and time of every file of the last run."""
        with self._lock:
            entries = sorted(os.scandir(self._results), key=lambda entry: entry.name)
            return [_described(entry) for entry in entries if entry.is_file()]

    def result(self, name: str) -> IO[bytes]:
        """Return a file of the last run, open. Raises MissingError."""
        with self._lock:
            names = sorted(entry.name for entry in os.scandir(self._results) if entry.is_file())
            if name not in names:
                have = ", ".join(names) or "none"
                raise MissingError(f"no result is named {name!r}; there are: {have}")
            return open(os.path.join(self._results, name), "rb")

    def _idle(self) -> None:
        if self._running is not None:
            raise BusyError("a simulation is already running; stop it or wait for its end")

    def _watch(self, worker: Worker) -> None:
        """Wait for the end of a run, and say how it ended."""
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
    def _replacing(self, folder: str) -> Iterator[str]:
        """Yield an empty folder that takes the place of another if the block ends well."""
        fresh = tempfile.mkdtemp(prefix="fresh-", dir=self._root)
        try:
            yield fresh
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(fresh, folder)

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


def _described(entry: os.DirEntry[str]) -> dict[str, Any]:
    made = time.localtime(entry.stat().st_mtime)
    return {
        "filename": entry.name,
        "size": entry.stat().st_size,
        "checksum": _md5(entry.path),
        "created": time.strftime("%Y-%m-%d %H:%M:%S", made),
    }


def _md5(path: str) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
