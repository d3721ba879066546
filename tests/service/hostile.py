"""Archives that nobody should unpack, and why each is refused.

Python's zipfile refuses to write such entries, so they are changed afterwards, in the central
directory, which is what readers believe.
"""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zlib
from collections.abc import Iterator
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

from tests.service import calls

GOOD = b"a trace"

_NAMES = (
    *("../x.et", "..", "../../etc/cron.d/x", "a/../../x", "a/..", "./x", ".", "a/./b", "a//b"),
    *("/etc/passwd", "/x", "//x", "~/../../x", "a/b/../../../x", "..\\x", "a\\..\\..\\x", "\\x"),
    *("C:\\x", "C:x", "c:/x", "file:x", "\\\\host\\share", "x\x01", "\x1b[2J", "a\nb", "a\tb"),
    *("a" * 256, "a" * 1025, "a/" * 20 + "x", "é" * 200, "x\x7f", "a/" + "b" * 300, "../", "/"),
)
_KINDS = (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, 0o110000)
_CENTRAL, _LOCAL, _END = b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06"
_FLAGS, _METHOD, _CRC, _PACKED, _SIZE, _OFFSET = 8, 10, 16, 20, 24, 42  # in the central directory


def archives() -> Iterator[tuple[str, bytes]]:
    yield from _named()
    yield from _of_other_kinds()
    yield from _lying()
    yield from _bombs()
    yield from _no_archives()
    yield from _cut()


def _entry(
    name: str, data: bytes = GOOD, mode: int = 0, method: int = ZIP_DEFLATED
) -> tuple[ZipInfo, bytes]:
    info = ZipInfo(name)
    info.external_attr = mode << 16
    info.compress_type = method
    return info, data


def _archive(*entries: tuple[ZipInfo, bytes]) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w") as file:
        for info, data in entries:
            file.writestr(info, data)
    return out.getvalue()


def _good() -> tuple[ZipInfo, bytes]:
    return _entry("workload/step.0.et")


def _renamed(name: str, *others: tuple[ZipInfo, bytes]) -> bytes:
    """Return an archive with an entry of a name that zipfile would mend."""
    stand_in = "n" * len(name.encode())
    data = _archive(_entry(stand_in), *others)
    return data.replace(stand_in.encode(), name.encode())


def _patched(data: bytes, offset: int, form: str, value: int, entry: int = 0) -> bytes:
    at = -1
    for _ in range(entry + 1):
        at = data.index(_CENTRAL, at + 1)
    return (
        data[: at + offset] + struct.pack(form, value) + data[at + offset + struct.calcsize(form) :]
    )


def _named() -> Iterator[tuple[str, bytes]]:
    for name in _NAMES:
        shown = name.encode("unicode_escape").decode()[:30]
        yield f"name {shown}", _renamed(name)
        yield f"name {shown}, behind a good one", _archive(_good(), *_parsed(_renamed(name)))
    yield "a NUL that hides an ending", _renamed("step.0.et\x00/../../x")
    yield "a NUL in a name", _renamed("workload/\x00")


def _parsed(data: bytes) -> list[tuple[ZipInfo, bytes]]:
    found = []
    with ZipFile(BytesIO(data)) as file:
        for info in file.infolist():
            info.filename = info.orig_filename
            found.append((info, GOOD if not info.orig_filename.endswith("/") else b""))
    return found


def _of_other_kinds() -> Iterator[tuple[str, bytes]]:
    for kind in _KINDS:
        for bits in (0o777, 0o644):
            what = f"kind {kind:o} with mode {bits:o}"
            yield what, _archive(_entry("workload/step.0.et", b"/etc/passwd", kind | bits))
            yield f"{what}, later", _archive(_good(), _entry("x", b"../..", kind | bits))
    yield (
        "a link and a file below it",
        _archive(_entry("a", b"/etc", stat.S_IFLNK | 0o777), _entry("a/passwd")),
    )
    yield "a file that says it is a folder", _archive(_entry("a", GOOD, stat.S_IFDIR | 0o755))
    yield "a folder that says it is a file", _archive(_entry("a/", b"", stat.S_IFREG | 0o644))
    yield "a folder with content", _archive(_entry("a/", GOOD, 0, ZIP_STORED))
    for method in (ZIP_BZIP2, ZIP_LZMA):
        yield f"packed by method {method}", _archive(_entry("x", GOOD, 0, method))
    for method in (1, 6, 9, 93, 99, 65535):
        yield f"packed by method {method}", _patched(_archive(_good()), _METHOD, "<H", method)


def _lying() -> Iterator[tuple[str, bytes]]:
    two = _archive(_good(), _entry("workload/step.1.et"))
    for size in (0, 1, 6, 8, 1000, 2**31, 2**32 - 2):
        yield f"a size of {size}", _patched(two, _SIZE, "<I", size)
        yield f"a size of {size}, of the second", _patched(two, _SIZE, "<I", size, 1)
    for size in (0, 1, 5, 2**31):
        yield f"a packed size of {size}", _patched(two, _PACKED, "<I", size)
    for crc in (0, 1, 2**32 - 1):
        yield f"a checksum of {crc}", _patched(two, _CRC, "<I", crc)
    for offset in (1, 5, 40, 2**31):
        yield f"an entry at {offset}", _patched(two, _OFFSET, "<I", offset)
    yield "encrypted", _patched(two, _FLAGS, "<H", 1)
    yield "the second encrypted", _patched(two, _FLAGS, "<H", 1, 1)
    again = _archive(_entry("one.et"), _entry("two.et"))
    yield "a name twice", again.replace(b"two.et", b"one.et")
    yield "a file and a folder", _archive(_entry("a/b"), _entry("a"))
    yield "a file, then a folder", _archive(_entry("a"), _entry("a/b"))
    yield "a folder below a file", _archive(_entry("a"), _entry("a/b/", b""))
    overlap = _patched(two, _OFFSET, "<I", 0, 1)
    yield "two entries of one place", overlap


def _bombs() -> Iterator[tuple[str, bytes]]:
    yield "zeros", calls.archive({"workload/step.0.et": bytes(17 << 20)})
    yield "zeros in many files", calls.archive({f"{at}.et": bytes(1 << 20) for at in range(20)})
    yield "many entries", _archive(*(_entry(f"{at}.et", b"") for at in range(1001)))
    yield "many folders", _archive(*(_entry(f"{at}/", b"") for at in range(1001)))
    small = _archive(_entry("x", bytes(12 << 20)))
    for said in (1, 100, 1 << 20):
        yield f"zeros that say {said}", _patched(small, _SIZE, "<I", said)


def _no_archives() -> Iterator[tuple[str, bytes]]:
    good = _archive(_good())
    yield "nothing", b""
    yield "no entries", _archive()
    yield "text", b"PK is not enough"
    yield "the mark of an entry alone", _LOCAL
    yield "the mark of an end alone", _END
    yield "an archive behind a script", b"#!/bin/sh\nrm -rf .\n" + good
    yield "an archive behind zeros", bytes(100) + good
    yield "compressed by zlib", zlib.compress(good)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as file:
        file.addfile(tarfile.TarInfo("../x"))
    yield "a tar", tar.getvalue()
    for count in (2, 1000, 65535):
        end = good.rindex(_END)
        lied = good[: end + 8] + struct.pack("<HH", count, count) + good[end + 12 :]
        yield f"a directory that says {count}", lied[: end + 12] + b"\xff" * 4 + lied[end + 16 :]


def _cut() -> Iterator[tuple[str, bytes]]:
    good = _archive(_good(), _entry("workload/step.1.et"))
    for at in range(1, len(good), 5):
        yield f"cut at {at}", good[:at]
