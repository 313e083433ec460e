"""Differential privacy: the trusted core that alone sees private rows, what it spends, and what it publishes.

Rows go in through `reading.py` and are counted in `core.py`, which answers two questions, `measure` and `select`, as
long as the budget lasts. Everything else works on the answers, the transcript. Nothing here needs torch.
"""
