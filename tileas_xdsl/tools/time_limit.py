"""The option `--timeout` of the subcommands that use the machine: seconds of processor time, or `none`."""

from __future__ import annotations

import argparse
from math import isfinite

from tileas_xdsl.checker.verdict.checking import TIMEOUT as TIMEOUT

NONE = "none"


def add_timeout(parser: argparse.ArgumentParser, default: float, what: str) -> None:
    """Add `--timeout SECONDS`, after which `what` ends with what is known by then. Its value is None for `none`."""
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=default,
        metavar="SECONDS",
        help=f"processor time after which {what} ends with what is known; none for no limit (default: {default:g})",
    )


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
