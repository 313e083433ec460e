"""Rows to counts: how often the bins of columns go together."""
