"""Networks that are programs of their own: how one is started, and what is said to it.

`process.py` moves lines to a program and back, and never waits for ever. `conversation.py` says
what the lines mean (docs/reference/external-networks.md), and refuses what breaks the rules.
"""
