"""A recording as the traces that run: converted once, and kept in the user's cache.

Trade-off: the cache (XDG_CACHE_HOME, else ~/.cache) holds what was used last, up to 8 GiB, because
a result names the traces that it ran; older ones are converted again from the recording.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from yantra import __version__
from yantra.base.errors import ConfigError
from yantra.base.notes import note
from yantra.base.output import write_text
from yantra.base.regular import sha256_of
from yantra.base.text import count
from yantra.chakra.files import save_pieces
from yantra.chakra.other_formats import found_in
from yantra.tracing import host_time
from yantra.tracing.inspect.rank_traces import find_traces
from yantra.tracing.pytorch.in_memory import Made, are_recordings, kept_of_each
from yantra.tracing.pytorch.kinds import beginning, kind_of
from yantra.tracing.pytorch.ranks import given

_MOST_BYTES = 8 << 30
_ABOUT = "about.json"
_PATTERN = "job.{rank}.et"
_TEMPLATE = "job.yw"
_GROUPS = "job.groups.json"
Progress = Callable[[int, int], None]


class How(NamedTuple):
    """What to take of recordings: one step, and host work `host_time` times as long."""

    step: int | None = None
    host_time: float = 1.0


AS_RECORDED = How()


def is_recording(name: str) -> bool:
    """See `recognise.is_recording`, which knows more from names."""
    found = given([name])
    is_one = bool(found) and are_recordings([name])
    other = found_in(found[0].path) if found else None
    if other is not None and not other.is_read:
        raise ConfigError(name, other.sentence(found[0].path))
    return is_one and (not _is_list(found[0].path) or _has_events(found[0].path))


def opened(files: Sequence[str], how: How = AS_RECORDED, progress: Progress | None = None) -> str:
    """What runs of recordings: traces, as a pattern with {rank}, or a workload file (.yw).

    One rank of several stands for all. Notes what was done. Raises TraceError or ConfigError for
    what is no recording.
    """
    recorded = are_recordings(files)
    if not recorded and not all(name.endswith((".et", ".et.gz")) for name in files):
        raise ConfigError(files[-1], "expected recordings of one job, or one file of another kind")
    if not recorded and how.step is not None:
        raise ConfigError("--step", "goes with recordings; convert the step with --step K instead")
    folder = _cache() / _name(files, how, recorded)
    if not (folder / _ABOUT).is_file():
        _make(folder, files, how, progress, recorded)
    about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    with suppress(OSError):
        os.utime(folder)
    for text in about["said"]:
        note(text)
    return str(folder / about["runs"])


def _is_list(path: str) -> bool:
    return beginning(path).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _has_events(path: str) -> bool:
    return b'"ph"' in beginning(path)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    base = Path(home) if home and os.path.isabs(home) else Path("~/.cache").expanduser()
    return base / "yantra" / "recordings"


def _name(files: Sequence[str], how: How, recorded: bool) -> str:
    found = given(files) if recorded else find_traces(files)
    parts = [__version__, _converter(), repr(how), *files]
    parts += [f"{os.path.basename(one.path)} {one.rank} {sha256_of(one.path)}" for one in found]
    stem = os.path.basename(files[0]).partition(".")[0].replace("{rank}", "")
    kept = "".join(letter for letter in stem if letter.isalnum() or letter in "-_")[:40]
    digest = hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]
    return f"{kept or 'job'}-{digest}"


def _converter() -> str:
    """Changes with the code that converts."""
    root = Path(host_time.__file__).parent
    times = [file.stat().st_mtime_ns for file in root.rglob("*.py")]
    return f"{len(times)} {max(times)}"


def _make(
    folder: Path, files: Sequence[str], how: How, progress: Progress | None, recorded: bool
) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        problem = f"cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can"
        raise ConfigError(str(folder.parent), problem) from None
    try:
        write = _convert if recorded else _rewrite
        runs, said = write(made, files, how, progress or (lambda done, total: None))
        write_text(made / _ABOUT, json.dumps({"runs": runs, "said": said}))
        with suppress(OSError):  # another process was first
            os.rename(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    _forget(folder)


def _convert(
    folder: Path, files: Sequence[str], how: How, progress: Progress
) -> tuple[str, list[str]]:

    def write(rank: int, pieces: Iterable[bytes]) -> None:
        content = host_time.scaled(pieces, how.host_time)
        save_pieces(content, str(folder / _PATTERN.format(rank=rank)))

    found, made = kept_of_each(files, write, step=how.step, progress=progress)
    said = [_said(files, made, how, len(found)), *made.problems]
    if all(kind_of(path) == "host" for path in made.paths.values()):
        said.append(f"{files[0]}: an execution trace alone has no times: give the profiler's, too")
    if sorted(found) == list(range(made.world_size)):
        if made.groups:
            write_text(folder / _GROUPS, made.groups)
        return _PATTERN, said
    if len(found) > 1:
        shown = ", ".join(map(str, sorted(found)[:8]))
        raise ConfigError(
            files[0],
            f"{len(found)} of the {made.world_size} ranks of its job are here ({shown}); give the "
            "recordings of all, or of one alone, which then stands for all",
        )
    return _TEMPLATE, [*said, *_one_for_all(folder, files, how, made)]


def _one_for_all(folder: Path, files: Sequence[str], how: How, made: Made) -> list[str]:
    from yantra.tracing.pytorch.convert import ConvertOptions
    from yantra.workloads.importers.recorded import one_for_all

    options = ConvertOptions(replicate=made.world_size, step=how.step)
    workload, report = one_for_all(files, options, how.host_time)
    workload.save(str(folder / _TEMPLATE))
    (rank,) = made.paths
    return [f"rank {rank} stands for all {made.world_size} of its job", *report.problems]


def _rewrite(
    folder: Path, files: Sequence[str], how: How, progress: Progress
) -> tuple[str, list[str]]:
    from yantra.chakra import files as trace_files
    from yantra.tracing.pytorch.files import groups_name

    found = find_traces(files)
    for done, (rank, path) in enumerate(found):
        content = host_time.scaled([trace_files.load(path)], how.host_time)
        save_pieces(content, str(folder / _PATTERN.format(rank=rank)))
        progress(done + 1, len(found))
    groups = groups_name(files[0])
    if os.path.isfile(groups):
        shutil.copy(groups, folder / _GROUPS)
    return _PATTERN, [f"{files[0]}: {_host(how)}"]


def _said(files: Sequence[str], made: Made, how: How, ranks: int) -> str:
    parts = [
        f"{files[0]}: {made.kind.removeprefix('a ').removeprefix('an ')}, {count(ranks, 'rank')}"
    ]
    if how.step is not None:
        parts.append(f"step {how.step} alone")
    elif len(made.steps) > 1:
        first, last = made.steps[0], made.steps[-1]
        steps = f"{len(made.steps)} steps (#{first} to #{last}) one after the other"
        parts.append(f"{steps}, --step {last} takes the last alone")
    if how.host_time != 1:
        parts.append(_host(how))
    return "; ".join([", ".join(parts[:1]), *parts[1:], "converted"])


def _host(how: How) -> str:
    return f"host work takes {how.host_time:g} times what was recorded"


def _forget(kept: Path) -> None:
    """Remove what was used longest ago beyond the most that is kept."""
    sizes = {}
    for folder in kept.parent.iterdir():
        with suppress(OSError):
            files = [file.stat() for file in folder.iterdir()]
            sizes[folder] = folder.stat().st_mtime, sum(file.st_size for file in files)
    room = _MOST_BYTES
    for folder, (_, size) in sorted(sizes.items(), key=lambda item: item[1][0], reverse=True):
        room -= size
        if room < 0 and folder != kept and not folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
