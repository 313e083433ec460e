"""Locations of PostgreSQL: `postgresql://user@host:port/db?table=NAME`, or `?query=SQL` in place of the table.

`order` and `count` are ours, every other parameter is one of libpq and passed on. Passwords come from the environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import unquote, unquote_plus

from cuts.data.exchange.readable import unreadable
from cuts.sources.registry import has_scheme
from cuts.text.credentials import check_no_password, password_in_location
from cuts.text.diagnostic import CutsError, did_you_mean

Counting = Literal["stream", "server"]

SCHEMES = ("postgresql", "postgres")
FORMS_HELP = "write `postgresql://USER@HOST:PORT/DATABASE?table=NAME`, or `?query=SELECT ...`"
_OURS = ("table", "query", "order", "count")
_SECRETS = ("password", "sslpassword", "oauth_client_secret")
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
_NEXT_PARAMETER = re.compile(r"&(?=[A-Za-z_]+=)")  # SQL may hold other ampersands


@dataclass(frozen=True, slots=True)
class Location:
    """A table or a query of a database; exactly one of `table` and `query` is not empty."""

    server: str  # what libpq connects to, without the parameters of ours
    table: tuple[str, ...] = ()  # with its schema before it if it is given
    query: str = ""
    order: tuple[str, ...] = ()  # columns that rows are sorted by
    counting: Counting = "stream"

    @property
    def name(self) -> str:
        """The name of the table; a query has the name of its database."""
        return self.table[-1] if self.table else self._database or "query"

    @property
    def label(self) -> str:
        """What messages call the rows."""
        return f"the table `{'.'.join(self.table)}`" if self.table else "the query"

    @property
    def host(self) -> str:
        """What messages call the server; empty if the environment names it."""
        return self.server.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]

    @property
    def _database(self) -> str:
        return unquote(self.server.partition("://")[2].partition("?")[0].partition("/")[2])


def is_postgres(data: object) -> bool:
    """Whether a location is one of PostgreSQL."""
    return any(has_scheme(data, scheme) for scheme in SCHEMES)


def parse_location(text: str) -> Location:
    """The location that a text spells; a `CutsError` says what is wrong with it, and never repeats a password.

    >>> parse_location("postgresql://ann@localhost/shop?table=sales.orders&order=id").table
    ('sales', 'orders')
    """
    check_no_password(text)
    server, _, rest = text.partition("?")
    ours: dict[str, str] = {}
    others: list[str] = []
    for part in _NEXT_PARAMETER.split(rest):
        key, _, value = part.partition("=")
        if unquote(key).lower() in _SECRETS:
            raise password_in_location()
        if key not in _OURS:
            others += [part] if part else []
        elif key in ours:
            raise unreadable(f"the location states `{key}` twice", FORMS_HELP)
        else:
            ours[key] = _decoded(value, is_query=key == "query").strip()
    if not re.match(r"[a-z]+://", server) or bool(ours.get("table")) == bool(ours.get("query")):
        raise unreadable("a location of PostgreSQL names a server, and either a table or a query", FORMS_HELP)
    counting = ours.get("count", "stream")
    if counting not in get_args(Counting):
        raise unreadable(
            f"there is no way of counting called `{counting}`",
            did_you_mean(counting, get_args(Counting)) or "write `count=server`, or leave it out",
        )
    query = "&".join(others)
    return Location(
        f"{server}?{query}" if query else server,
        _name_parts(ours.get("table", "")),
        ours.get("query", "").rstrip("; \n\t"),
        tuple(column for column in ours.get("order", "").split(",") if column),
        "server" if counting == "server" else "stream",
    )


def _name_parts(text: str) -> tuple[str, ...]:
    """The parts of a name such as `sales.orders`; a part in double quotes may contain dots."""
    if not text:
        return ()
    parts = [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(text)]
    if not re.fullmatch(rf"(?:{_NAME.pattern})(?:\.(?:{_NAME.pattern}))?", text):
        raise not_a_table(text)
    return tuple(parts)


def not_a_table(text: str) -> CutsError:
    """A table's name that cannot be read."""
    return unreadable(
        f"`{text}` is not the name of a table",
        'write `table=NAME` or `table=SCHEMA.NAME`, and names with dots as "a.b"',
    )


def _decoded(text: str, *, is_query: bool) -> str:
    """The text as it is if it contains a blank, which a URL cannot; otherwise decoded as a part of a URL.

    >>> _decoded("SELECT 7 % 20", is_query=True), _decoded("TABLE+orders", is_query=True)
    ('SELECT 7 % 20', 'TABLE orders')
    """
    if re.search(r"\s", text):
        return text
    return unquote_plus(text) if is_query else unquote(text)
