"""What a profile is: a machine's measured kernels as lines of text, not a correction, so it
survives new tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.fields import Section, Text
from yantra.base.records import Record

if TYPE_CHECKING:
    from yantra.compute.profiles.rows import Rows


class Profile(Record):
    """Measured kernels of a machine, one a line; `place` is their first line."""

    title: str
    device: str
    source: str
    kernels: str
    path: str = ""

    @property
    def rows(self) -> Rows:
        """The kernels. Raises ConfigError with file and line."""
        from yantra.compute.profiles.rows import read

        return read(self.kernels, self.path)


OF_STACK = ("based_on", "collectives", "cluster")
"""The other keys of a file that is also a stack."""
FILE = Section(
    Profile,
    {
        "title": ("title", Text(), "what was measured"),
        "device": ("device", Text(), "what the machine is called"),
        "source": ("source", Text(), "where the kernels are from, and when"),
        "kernels": ("kernels", Text(), "op,phase,dtype,shape,us: a line for each kernel"),
    },
)
