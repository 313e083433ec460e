"""Readings of a spec: on the values of a table (`exact`), as SQL (`sql`). One reading, one module."""
