"""How long a plan takes: closed forms over columns of plans, and a run where that is short."""
