"""A page on which model, plan and cluster are controls: `yantra ui`.

`jobs.py` makes a run of what the controls say, `page.py` the page, `server.py` serves both to this
machine alone. Trade-off: the standard library's server, for one user; it runs one job at a time.
"""
