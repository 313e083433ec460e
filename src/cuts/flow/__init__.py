"""The picture: stages in order, deciding nothing. `run.py` is where to begin.

`run.py` has the whole flow (`run`, `fit`, `sample`), `checks.py` what can be said before it (`check`), `judge.py` what
can be said of a table (`verify`, `evaluate`). `learn.py` fits rows, `private.py` and `release.py` private rows;
`search.py` and `frontier.py` try a program on folds.
"""
