"""Does a pass over token programs keep what they compute, and keep them safe?"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import Float32Type, ModuleOp

from tests.support.ir import parse, print_custom, run_passes
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.machine.arguments import find_function
from tileas_xdsl.machine.running import Outcome, run

ORDERS = (("eager", 0), ("lazy", 0), ("random", 1), ("random", 2))


def numbers_of(outcome: Outcome) -> list[float]:
    """Results, tokens left out, and the final contents of the arrays."""
    found = [result for result in outcome.results if result is not None]
    return [float(x) for value in (*found, *outcome.arrays.values()) for x in np.asarray(value).flat]


def numbers_for(module: ModuleOp, function: str) -> dict[str, float]:
    """A value for each argument of type f32; arrays get one by themselves."""
    _, body = find_function(module, function)
    return {arg.name_hint or str(arg.index): 2.5 for arg in body.block.args if isinstance(arg.type, Float32Type)}


def changed(text: str, passes: str) -> ModuleOp:
    """The module after `passes`, verified after each of them."""
    with recorded_diagnostics():
        return run_passes(parse(text), passes)


def assert_safe_and_equal(text: str, after: ModuleOp, function: str = "f") -> None:
    """Before and after, `function` is safe and computes the same under all orders."""
    before = parse(text)
    for name, module in (("before", before), ("after", after)):
        report = check(module, function)
        assert report.verdict is Verdict.SAFE, f"{name}: {report}\n{text}\n{print_custom(after)}"
    given = numbers_for(before, function)
    expected = numbers_of(run(before, function, given))
    for order, seed in ORDERS:
        found = numbers_of(run(after, function, given, order=order, seed=seed))
        assert found == expected, f"{order} {seed}\n{text}\n{print_custom(after)}"
