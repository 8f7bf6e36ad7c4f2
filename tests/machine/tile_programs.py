"""Small functions on tiles: writing them down, running them, and checking them."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

import numpy as np

from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report
from tileas_xdsl.machine.running import Outcome, run

ORDERS = [("eager", 0), ("lazy", 0), ("timed", 0), *(("random", seed) for seed in range(10))]
"""Every order that a program is run under."""


def function(arguments: Mapping[str, str], body: str, results: str = "", *, returned: str = "%r", **types: str) -> str:
    """A function that runs `body` and returns `returned`. `$name` in the texts is written out from `types`."""
    listed = ", ".join(f"%{name}: {kind}" for name, kind in arguments.items())
    signature, leave = (f" -> ({results})", f"func.return {returned} : {results}") if results else ("", "func.return")
    text = f"func.func @f({listed}){signature} {{\n{body}\n{leave}\n}}"
    return Template(text).substitute(types)


def outcome_of(text: str, *arguments: Any, order: str = "lazy", seed: int = 0) -> Outcome:
    """What the only function of `text` leaves behind, run on `arguments`; it must be free of violations."""
    outcome = run(parse(text), None, arguments, order=order, seed=seed)
    assert_no_violations(outcome)
    return outcome


def assert_no_violations(outcome: Outcome) -> None:
    """Fails naming what went wrong and who took part."""
    wrong = [f"{v.kind}: {v.message}; missing: {v.missing}; {[*map(str, v.parties)]}" for v in outcome.violations]
    assert not wrong, "\n".join(wrong)


def result_of(text: str, *arguments: Any) -> Any:
    """What the only function of `text` returns: alone if it is one value."""
    results = outcome_of(text, *arguments).results
    return results[0] if len(results) == 1 else results


def verdict_of(text: str, **arguments: int) -> Report:
    """The report of a check of the only function of `text`."""
    return check(parse(text), args=arguments)


def floats(*shape: int, dtype: Any = np.float32) -> Any:
    """Different small numbers, exact in every float type of eight bits or more, up to a few dozen."""
    return (np.arange(np.prod(shape, dtype=int)) % 15 - 7).astype(dtype).reshape(shape)


def exactly(actual: Any, expected: Any) -> bool:
    """Whether two arrays agree in type, shape and every bit (NaNs count as equal)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    bits = f"u{actual.dtype.itemsize}"
    same = actual.view(bits) == expected.view(bits)
    return bool(np.all(same | ((actual != actual) & (expected != expected))))
