"""The explorer on the bug zoo: it too tells every wrong program from its right twin, but for what it does not know."""

from __future__ import annotations

import pytest

from examples.zoo.exhibits import Exhibit, exhibits
from tests.machine.explorer.explorer import explore
from tileas_xdsl.machine.arguments import public_functions
from tileas_xdsl.machine.violations import ViolationKind
from tileas_xdsl.tools.inputs import full_context, parse_module

EXHIBITS = exhibits()
TRIPS = range(5)
UNKNOWN = {ViolationKind.MISSING_FENCE, ViolationKind.SLOT}
"""Proxies and live slots are nothing that the explorer knows of."""
NOT_MODELLED = {"arrive-scope", "init-not-published"}
"""Nor are scopes of arrives, and that making a barrier is an access of its own."""

each = pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)


def verdicts(exhibit: Exhibit, *, good: bool) -> set[str]:
    """What the explorer finds for small trip counts."""
    path = exhibit.good if good else exhibit.bad
    module = parse_module(path.read_text(), str(path), full_context())
    (function,) = public_functions(module)
    found: set[str] = set()
    for trips in TRIPS:
        explored = explore(module, function, trips=trips)
        found |= explored.verdict | ({"phase"} if explored.overrun or explored.overfull else set())
    return found


@each
def test_right_program_has_no_mistake_in_any_interleaving(exhibit: Exhibit) -> None:
    assert verdicts(exhibit, good=True) == set()


@each
def test_wrong_program_goes_wrong_in_some_interleaving(exhibit: Exhibit) -> None:
    assert exhibit.finding is not None
    violation = exhibit.finding.violation
    found = verdicts(exhibit, good=False)
    if violation.kind in UNKNOWN or exhibit.name in NOT_MODELLED:
        return
    assert str(violation.symptom or violation.kind) in found or (violation.kind is ViolationKind.PHASE and found), found
