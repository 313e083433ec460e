"""Differential privacy: the trusted core, which alone sees private rows, its budget, and what it publishes.

Rows go in through `reading` and are counted in `core`, which answers two questions, `measure` and `select`, as long as
the budget lasts. Everything else works on its answers, the transcript. Nothing here needs torch.
"""
