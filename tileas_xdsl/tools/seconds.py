"""Seconds as an option takes them."""

from __future__ import annotations

import argparse
from math import isfinite

NONE = "none"
"""What stands for no limit."""


def seconds(text: str) -> float | None:
    """The time that `text` is; None for `none`. Raises `ArgumentTypeError` for what is no number above 0."""
    if text == NONE:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0; {NONE} is no limit")
    return number
