"""A value that cannot be printed, compared, converted or serialised, only dropped: the true counts of private rows."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

_Value = TypeVar("_Value")


class Secret(Generic[_Value]):
    """Holds a value that only `reveal` returns, until `forget`; only the trusted core may import these two.

    A test checks the imports.
    """

    __slots__ = ("__value",)

    def __init__(self, value: _Value) -> None:
        self.__value = value

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a secret cannot be inspected")

    def __repr__(self) -> str:
        return "Secret(...)"

    __str__ = __repr__
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = __getitem__ = _refuse
    __int__ = __float__ = __complex__ = __index__ = __array__ = __format__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse


def reveal(secret: Secret[_Value]) -> _Value:
    """The value inside."""
    return secret._Secret__value  # type: ignore[attr-defined, no-any-return]


def forget(secret: Secret[_Value]) -> None:
    """Drop the value, wherever the secret itself is still referred to."""
    secret._Secret__value = None  # type: ignore[attr-defined]
