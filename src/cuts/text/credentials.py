"""Passwords in locations: found wherever they are written, so that they are refused before anything repeats them."""

from __future__ import annotations

import re
from urllib.parse import unquote

from cuts.text.diagnostic import CutsError, usage_error

_PASSWORD = re.compile(
    r"\b[a-z][a-z0-9+.-]*://[^\s/?#@]*:[^\s?#@]*@"  # scheme://user:password@host
    r"|\bpostgres(?:ql)?:/{0,2}\s?(?:[^\s/?#:\[@]*@)?[^\s/?#:\[@]*:(?!\d*(?:[/?#,;\"'\s]|$))"  # a colon without a port
    r"|\bpostgres(?:ql)?://.*[?&;]\s*(?:(?:ssl)?password|oauth_client_secret)="
    r"|\b(?:host|hostaddr|port|dbname|user)\s*=[^=\n][^\"\n]*?\b(?:ssl)?password\s*=(?!=)"  # as libpq also takes them,
    r"|\b(?:ssl)?password\s*=[^=\n][^\"\n]*?\b(?:host|hostaddr|port|dbname|user)\s*=(?!=)"  # in any order
    r"|\bmotherduck_token=",
    re.IGNORECASE,
)


def check_no_password(text: str) -> None:
    """Raise if a location in the text holds a password; the error does not repeat it.

    >>> check_no_password("postgresql://reader@localhost:5432/shop?table=orders")
    """
    if _PASSWORD.search(text) or _PASSWORD.search(unquote(text)):
        raise password_in_location()


def password_in_location() -> CutsError:
    """A password where it would be printed and saved with the location."""
    return usage_error(
        "password-in-location",
        "a location holds a password, which would be saved with the program",
        "remove it, and set the environment variable PGPASSWORD, or name a password file by PGPASSFILE",
    )
