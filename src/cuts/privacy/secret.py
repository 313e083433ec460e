"""A value that cannot be shown, compared, turned into a number or written: true counts of private rows."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

_Held = TypeVar("_Held")


class Secret(Generic[_Held]):
    """Holds a value that only `reveal` gives back, which only the trusted core may call (a test of imports)."""

    __slots__ = ("__value",)

    def __init__(self, value: _Held) -> None:
        self.__value = value

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a secret is not to be looked at")

    def __repr__(self) -> str:
        return "Secret(...)"

    __str__ = __repr__
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = _refuse
    __int__ = __float__ = __complex__ = __index__ = __array__ = __format__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse


def reveal(secret: Secret[_Held]) -> _Held:
    """The value."""
    return secret._Secret__value  # type: ignore[attr-defined, no-any-return]
