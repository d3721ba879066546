"""The parts of a rank's time, which add up to its finish: each moment counts for the first of them
that is under way.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    name: str
    """That of its column, less `_ns`."""
    title: str
    """In a report."""
    head: str
    """Over a narrow column."""
    text: str
    """In a sentence, after a share."""
    colour: str
    """On paper that is white."""
    theme: str
    """The variable of a page's theme (export/report/parts/shell.css)."""
    always: bool = False
    """Whether a summary shows it where it is 0."""


ALL = (
    Part("compute", "compute", "compute", "compute", "#2f6fb2", "compute", always=True),
    Part(
        "exposed_communication",
        "exposed communication",
        "exposed comm",
        "exposed communication",
        "#e08214",
        "collective",
        always=True,
    ),
    Part(
        "exposed_memory", "exposed memory", "memory", "exposed remote memory", "#9a5fb0", "memory"
    ),
    Part("exposed_host", "exposed host", "host", "exposed host work", "#2a9076", "host"),
    Part(
        "unexplained_device",
        "unexplained (device)",
        "unexpl dev",
        "device time that nothing recorded explains",
        "#7d6b5d",
        "unexplained",
    ),
    Part(
        "unexplained_host",
        "unexplained (host)",
        "unexpl host",
        "host time that nothing recorded explains",
        "#b09c8c",
        "unexplained-host",
    ),
    Part("waiting", "waiting", "waiting", "waiting for other ranks", "#b39b45", "waiting"),
    Part("idle", "idle", "idle", "idle time", "#a0a0a0", "idle", always=True),
)
NAMES = tuple(part.name for part in ALL)
"""Their names, in the order in which a moment with several counts for one."""
BY_NAME = {part.name: part for part in ALL}
AT_THE_END = "finished"
"""What a comparison calls the time from a rank's finish to the end of the run."""


def text_of(name: str) -> str:
    part = BY_NAME.get(name)
    return part.text if part else "idle at the end" if name == AT_THE_END else name


def styles() -> str:
    return "\n".join(
        f".{part.name} {{ fill: var(--{part.theme}); background: var(--{part.theme}); }}"
        for part in ALL
    )
