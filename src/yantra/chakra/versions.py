"""Versions that writers state, against the last one known: a newer file is read, and told so.

An .et file states the version of the schema in its metadata; Chakra's PyTorch files state it behind
the one of PyTorch, `1.1.1-chakra.0.0.4`. Fields that a newer schema adds are kept, not understood
(docs/reference/chakra.md), so what is known of the file still means the same.
"""

from __future__ import annotations

from yantra.base.notes import note

LAST = "1.0.0"
"""The last version that is known: of 2026, and of the same schema as 0.0.4, of October 2023."""

_TAG = b"\n"  # field 1 of the metadata, a text
_LONGEST = 0x7F  # bytes of a text whose length is one byte
_VARINT = 5  # bytes at most, of the length of the metadata
_PARTS, _LONGEST_PART = 3, 9  # of a version, and digits of one


def is_newer(version: str, known: str) -> bool:
    """Return whether a version is above a known one; what is no version is not."""
    parts = version.split(".")
    if len(parts) != _PARTS or not all(
        part.isascii() and part.isdigit() and len(part) <= _LONGEST_PART for part in parts
    ):
        return False
    return list(map(int, parts)) > list(map(int, known.split(".")))


def tell_if_newer(version: str, where: str) -> None:
    """Tell that a file states a newer schema than the last one known, if it does."""
    if version and version != LAST and is_newer(version, LAST):
        note(
            f"{where}: states version {version} of the Chakra schema, newer than {LAST}, the last "
            "one known; it is read as that"
        )


def stated_version(plain: bytes) -> str:
    """Return the version that the content of an .et file states, empty if it states none."""
    at = next((at + 1 for at, byte in enumerate(plain[:_VARINT]) if byte < 0x80), 0)
    if plain[at : at + 1] != _TAG:
        return ""
    size = int.from_bytes(plain[at + 1 : at + 2], "little")
    return plain[at + 2 : at + 2 + size].decode(errors="replace") if size <= _LONGEST else ""
