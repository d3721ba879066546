"""Laws of a run, held on random pairs of jobs; see `__main__.py`."""
