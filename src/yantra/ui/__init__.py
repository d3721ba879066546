"""A page on which model, plan and cluster are controls: `yantra ui`.

`controls.py` says what the controls may say, `own.py` makes files of pasted texts, `question.py`
makes the scenario of `yantra run` of a form. `jobs.py` runs it or searches for plans, `answer.py`
is what the page gets, with pictures (`memory_picture.py`, `step_picture.py`). `worker.py` does so
in a process of its own, `workers.py` keeps these processes and ends them, `page.py` makes the page,
and `server.py` serves it to this machine alone. Trade-off: the standard library's server, a thread
for each connection, which is right for one user.
"""
