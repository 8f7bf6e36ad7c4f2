"""
The options `--timeout` and `--steps` of the subcommands that use the machine: seconds of processor time for a run, and
steps for a check, which are the same on every computer.
"""

from __future__ import annotations

import argparse
from math import inf, isfinite

NO_TIMEOUT = inf
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


TIMEOUT = 15.0
"""Seconds of processor time for a run, unless the caller asks for more or for less."""


def add_timeout(parser: argparse.ArgumentParser, default: float, what: str) -> None:
    """Add `--timeout SECONDS`, after which `what` ends with what is known by then. Its value is None for `none`."""
    by_default = "none" if default == NO_TIMEOUT else f"{default:g}"
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=default,
        metavar="SECONDS",
        help=f"processor time after which {what} ends with what is known; none for no limit (default: {by_default})",
    )


def add_steps(parser: argparse.ArgumentParser) -> None:
    """Add `--steps N`, after which the check of a function ends. Its value is infinity for `none`."""
    from tileas_xdsl.checker.verdict.checking import STEPS  # a command that only compiles needs no checker

    parser.add_argument(
        "--steps",
        type=number_of_steps,
        metavar="N",
        help="steps after which the check of a function ends with what is known, the same on every computer; "
        f"none for no limit (default: {STEPS:,}, or none if --timeout is given)",
    )


def for_a_run(timeout: float | None) -> float | None:
    """The seconds for a run, of a command that also checks: those that were given, or the default."""
    return TIMEOUT if timeout == NO_TIMEOUT else timeout


def number_of_steps(text: str) -> float:
    """The steps that `text` says; infinity for `none`. Raises `ArgumentTypeError` for what is no integer above 0."""
    if text == NONE:
        return inf
    if not text.replace("_", "").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of steps above 0; {NONE} is no limit")
    return int(text)
