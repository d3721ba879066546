"""How long a plan takes: closed forms over columns of plans, and short runs."""
