"""At which speeds plans are judged where nobody says: by commands, studies and Python alike."""

from yantra.fabric.stacks.choice import ROOFLINE

DEFAULT_STACK = ROOFLINE
