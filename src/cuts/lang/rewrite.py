"""Walking a tree, and rebuilding it with some nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """The tree with `change` applied to every node from the top; where it returns another node, that one is kept.

    Spans, comments and other fields that do not count in comparisons are left as they are.
    """
    changed = change(node)
    if changed is not node:
        return changed
    if isinstance(node, tuple):
        return tuple(rewrite(part, change) for part in node)
    if is_dataclass(node) and not isinstance(node, type):
        parts = {f.name: rewrite(getattr(node, f.name), change) for f in fields(node) if f.compare}
        return replace(node, **parts)
    return node


def nodes(node: Any) -> Iterator[Any]:
    """The node and everything below it, from the top, left to right."""
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        for field in fields(node):
            if field.compare:
                yield from nodes(getattr(node, field.name))


def depth(node: Any) -> int:
    """How many nodes lie on the longest way down."""
    deepest, stack = 0, [(node, 1)]
    while stack:
        part, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(part, tuple):
            stack.extend((child, level) for child in part)
        elif is_dataclass(part) and not isinstance(part, type):
            stack.extend((getattr(part, f.name), level + 1) for f in fields(part) if f.compare)
    return deepest
