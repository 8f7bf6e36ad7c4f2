"""What a layout cannot say, or cannot do, as one sentence for people."""

from __future__ import annotations


class LayoutError(ValueError):
    """A layout that does not exist, or a question that it has no answer to; the message is a sentence."""


def exponent(value: int, what: str) -> int:
    """
    k where `value` is 2**k. Raises `LayoutError`, which begins with `what`, for any other number: the maps here are
    linear over bits. A negative number stands for an extent that the type leaves open.
    """
    if value < 1 or value & (value - 1):
        raise LayoutError(f"{what} is {'not known' if value < 0 else value}, and layouts over bits need a power of two")
    return value.bit_length() - 1
