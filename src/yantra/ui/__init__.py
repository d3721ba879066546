"""A page on which model, plan and cluster are controls: `yantra ui`.

`jobs.py` makes a run of what the controls say, `worker.py` does so in a process of its own,
`workers.py` keeps these processes and ends them, `page.py` makes the page, and `server.py` serves
it to this machine alone. Trade-off: the standard library's server, a thread for each connection,
which is right for one user.
"""
