"""Reads and writes messages one after the other, each behind its length as a varint.

Other than upstream's: an empty message is a message and not the end of the file, and a file that
ends within a message is an error. Any object with `SerializeToString` and `ParseFromString` is a
message.

Source: the framing of .et files; docs/reference/chakra.md.
"""

import gzip
from typing import Any, BinaryIO, cast

from yantra.cli.chakra_package import stay_behind_upstream

stay_behind_upstream(__name__)

_GZIP = b"\x1f\x8b"
_LONGEST_LENGTH = 5  # bytes of a varint of 32 bits


def openFileRd(in_file: str) -> BinaryIO:  # noqa: N802
    """Open the file at a path for reading bytes, unpacked if its content is gzip."""
    file = open(in_file, "rb")  # noqa: SIM115
    packed = file.read(len(_GZIP)) == _GZIP
    if packed:
        file.close()
        return cast(BinaryIO, gzip.open(in_file, "rb"))
    file.seek(0)
    return file


def decodeMessage(in_file: BinaryIO, message: Any) -> bool:  # noqa: N802
    """Parse the next message of a file into `message`; return False at the end of the file."""
    size = _length(in_file)
    if size is None:
        return False
    data = in_file.read(size)
    if len(data) < size:
        raise EOFError(f"the file ends within a message: {len(data)} of {size} bytes")
    message.ParseFromString(data)
    return True


def encodeMessage(out_file: BinaryIO, message: Any) -> None:  # noqa: N802
    """Write a message to a file behind its length."""
    data = message.SerializeToString()
    left = len(data)
    length = bytearray()
    while left > 0x7F:
        length.append(left & 0x7F | 0x80)
        left >>= 7
    length.append(left)
    out_file.write(bytes(length) + data)


def _length(file: BinaryIO) -> int | None:
    """Return the next length, or None at the end of the file."""
    size = 0
    for place in range(_LONGEST_LENGTH):
        byte = file.read(1)
        if not byte and place == 0:
            return None
        if not byte:
            raise EOFError("the file ends within the length of a message")
        size |= (byte[0] & 0x7F) << 7 * place
        if byte[0] < 0x80:
            return size
    raise ValueError("not a Chakra trace: a length has more than 32 bits")
