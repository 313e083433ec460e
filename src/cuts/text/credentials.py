"""Passwords in locations: found wherever they are written, so that they are refused before anything repeats them."""

from __future__ import annotations

import re

from cuts.text.diagnostic import CutsError, usage_error

_PASSWORD = re.compile(
    r"\b[a-z][a-z0-9+.-]*://[^\s/?#@]*:[^\s?#@]*@"  # scheme://user:password@host
    r"|\bpostgres(?:ql)?://[^\s/?#:\[@]*:(?!\d*(?:[/?#,;\"'\s]|$))"  # what follows a colon and is no port
    r"|\bpostgres(?:ql)?://.*[?&](?:ssl)?password=",
    re.IGNORECASE,
)


def check_no_password(text: str) -> None:
    """Raise if a location in the text holds a password; the error does not repeat it.

    >>> check_no_password("postgresql://reader@localhost:5432/shop?table=orders")
    """
    if _PASSWORD.search(text):
        raise password_in_location()


def password_in_location() -> CutsError:
    """A password where it would be printed and saved with the location."""
    return usage_error(
        "password-in-location",
        "a location holds a password, which would be saved with the program",
        "remove it, and set the environment variable PGPASSWORD, or name a password file by PGPASSFILE",
    )
