"""A page with model, plan and cluster as controls: `yantra ui`.

`controls.py`: what they may say, `own.py`: pasted texts as files, `question.py`: a form's scenario,
`jobs.py`: runs and searches, `answer.py`: the page's answer, with `memory_picture.py` and
`step_picture.py`, `worker.py`: the process that answers, `workers.py`: its keeper, `page.py`: the
page, `server.py`: serves it locally. `sheets.py`: pages beside it, `serve_sheet.py`, `rl_sheet.py`.
"""
