"""Versions of schemas: newer files are read, with a warning.

Chakra's PyTorch files append the version to PyTorch's, `1.1.1-chakra.0.0.4`.
"""

from __future__ import annotations

from yantra.base.notes import note

LAST = "1.0.0"
"""Last known version: of 2026, with the schema of 0.0.4, October 2023."""

_TAG = b"\n"  # field 1 of the metadata, a text
_LONGEST = 0x7F  # bytes of a text with a one-byte length
_VARINT = 5  # bytes at most of the metadata's length
_PARTS, _LONGEST_PART = 3, 9  # of a version, and digits of a part


def is_newer(version: str, known: str) -> bool:
    """Whether `version` is above `known`; a text that is no version is not."""
    parts = version.split(".")
    if len(parts) != _PARTS or not all(
        part.isascii() and part.isdigit() and len(part) <= _LONGEST_PART for part in parts
    ):
        return False
    return list(map(int, parts)) > list(map(int, known.split(".")))


def tell_if_newer(version: str, where: str) -> None:
    if version and version != LAST and is_newer(version, LAST):
        note(
            f"{where}: states version {version} of the Chakra schema, newer than {LAST}, the last "
            "one known; it is read as that"
        )


def stated_version(plain: bytes) -> str:
    at = next((at + 1 for at, byte in enumerate(plain[:_VARINT]) if byte < 0x80), 0)
    if plain[at : at + 1] != _TAG:
        return ""
    size = int.from_bytes(plain[at + 1 : at + 2], "little")
    return plain[at + 2 : at + 2 + size].decode(errors="replace") if size <= _LONGEST else ""
