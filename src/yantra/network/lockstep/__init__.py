"""Networks that are programs of their own.

`process.py` exchanges lines with a program and never waits forever; `conversation.py` checks what
they mean (docs/reference/external-networks.md).
"""
