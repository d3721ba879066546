"""The container of a workload file: a ZIP archive whose bytes follow from its content.

Members have the earliest time that ZIP can say, no attributes of the machine, and are read on
demand.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from yantra.base.documents import note_unknown
from yantra.base.errors import ConfigError, show
from yantra.base.output import whole_file
from yantra.base.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zipfile import ZipFile

    from yantra.workloads.templates.spool import Spool

MANIFEST = "manifest.json"
TEMPLATES = "templates/"
STEADY = "steady/"
_ENDING = ".et"
_READABLE_FILE = 0o100644 << 16
_UNIX = 3
_LARGE = 2**31 * 20 // 21  # bytes; more may need a header of 64 bits once packed
_FASTEST = 1  # a third larger than the best, in a tenth of the time


def write(
    path: str | os.PathLike[str],
    manifest: str,
    templates: Iterable[tuple[str, bytes | Spool]],
    steady: Iterable[tuple[str, bytes | Spool]] = (),
) -> None:
    from zipfile import ZIP_DEFLATED, ZipFile

    with (
        whole_file(path) as name,
        ZipFile(name, "w", ZIP_DEFLATED, compresslevel=_FASTEST) as archive,
    ):
        _add(archive, MANIFEST, manifest.encode())
        for folder, some in ((TEMPLATES, templates), (STEADY, steady)):
            for template, content in some:
                _add(archive, member_of(template, folder), content)


def _add(archive: ZipFile, member: str, content: bytes | Spool) -> None:
    size = len(content) if isinstance(content, bytes) else content.size
    with archive.open(member, "w", force_zip64=size > _LARGE) as file:
        for piece in (content,) if isinstance(content, bytes) else content.pieces():
            file.write(piece)
    info = archive.getinfo(member)  # what is said at the archive's end
    info.create_system = _UNIX
    info.external_attr = _READABLE_FILE


def read(path: str | os.PathLike[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Raises ConfigError naming the file and what it should hold."""
    where = os.fspath(path)
    with _opened(path) as archive:
        found: dict[str, list[str]] = {TEMPLATES: [], STEADY: []}
        unknown: list[str] = []
        for info in archive.infolist():
            name = info.filename
            if name != MANIFEST:
                folder, template = _parts(name)
                if folder in found and template:
                    found[folder].append(template)
                else:
                    unknown.append(show(name))
        if len(set(archive.namelist())) < len(archive.namelist()):
            raise ConfigError(where, "a member is in it twice")
        content = _member(archive, MANIFEST, where)
    note_unknown(unknown, where)
    try:
        return content.decode(), tuple(found[TEMPLATES]), tuple(found[STEADY])
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: {MANIFEST}", f"not UTF-8 text at byte {error.start}") from None


def _parts(name: str) -> tuple[str, str]:
    folder, slash, file = name.partition("/")
    template = file.removesuffix(_ENDING)
    is_one = file == f"{template}{_ENDING}" and "/" not in template
    return folder + slash, template if is_one else ""


def read_template(path: str | os.PathLike[str], template: str, folder: str = TEMPLATES) -> bytes:
    with _opened(path) as archive:
        return _member(archive, member_of(template, folder), os.fspath(path))


def member_of(template: str, folder: str = TEMPLATES) -> str:
    return f"{folder}{template}{_ENDING}"


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[ZipFile]:
    from zipfile import BadZipFile, ZipFile

    from yantra.base.unpacking import check_members

    where = os.fspath(path)
    try:
        with open_regular(path) as file:  # not a pipe, which ZipFile would wait for
            size = os.fstat(file.fileno()).st_size
            archive = ZipFile(path)
    except FileNotFoundError:
        from yantra.chakra.files import near

        raise ConfigError(where, f"no such file{near(where)}") from None
    except OSError as error:
        raise ConfigError(where, f"cannot be read: {error.strerror or error}") from None
    except (BadZipFile, ValueError, NotImplementedError) as error:
        problem = f"not a workload file, or cut off: {str(error)[:80]}"
        raise ConfigError(where, problem) from None
    with archive:
        check_members(archive, where, size)
        yield archive


def _member(archive: ZipFile, name: str, where: str) -> bytes:
    import zlib
    from zipfile import BadZipFile

    from yantra.base.unpacking import read_member

    if name not in archive.namelist():
        raise ConfigError(f"{where}: {name}", "missing")
    try:
        return read_member(archive, archive.getinfo(name))
    except (BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise ConfigError(f"{where}: {name}", f"damaged: {str(error)[:80]}") from None
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or another compression
        raise ConfigError(f"{where}: {name}", f"cannot be unpacked: {str(error)[:80]}") from None
