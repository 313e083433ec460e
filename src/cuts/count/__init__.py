"""Counts of rows: how often the bins of columns occur together."""
