"""The explorer on the bug zoo: it tells every wrong program from its right twin, but for mistakes it does not model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.zoo.exhibits import Exhibit, exhibits
from tests.checker.explorer.explorer import explore
from tileas_xdsl.machine.arguments import public_functions
from tileas_xdsl.machine.core.violations import ViolationKind
from tileas_xdsl.tools.inputs import full_context, parse_module

NOT_READ = {
    *("descriptor-of-the-next-group", "first-block-of-causal", "stored-and-loaded-back"),
    *("barrier-over-lds-transfers", "external-arrays-alias", "read-before-grid-wait"),
    *("copy-in-two-groups", "split-loop-tail"),
    *("cleared-by-one-thread", "rows-by-thread", "scratch-of-the-block", "weights-over-scores"),
}
"""
Pairs with ops that it does not know: tensor maps, ids of blocks, functions of `llvm` with transfers of AMD's LDS,
arrays of shared memory that have a name, waits for another grid, copies of nvgpu, and addresses that differ by thread.
"""
EXHIBITS = [exhibit for exhibit in exhibits() if exhibit.name not in NOT_READ]
TRIPS = range(5)
UNKNOWN = {ViolationKind.SLOT}
"""Live slots are nothing that the explorer knows of."""
NOT_MODELLED = {
    *("init-not-published", "barrier-without-counters", "prefetch-behind-the-end"),
    *("barrier-sixteen", "mask-beyond-the-cluster", "offset-that-wraps", "state-of-another-barrier"),
}
"""
Nor are that a barrier which others use has to be published, accesses of a wave that are under way when it comes to a
barrier, and accesses behind the end of an array; that barriers have numbers below 16, integers a width, and clusters a
last block; and whose state a test names.
"""
TOO_LARGE = {"elected-in-every-warp"}
"""It has more interleavings of its arrivals than can be tried."""

each = pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.name)


def explored(path: Path, *, stops_early: bool = False) -> Iterator[set[str]]:
    """What the explorer finds for one small trip count after the other, or what it finds first."""
    module = parse_module(path.read_text(), str(path), full_context())
    (function,) = public_functions(module)
    for trips in TRIPS:
        found = explore(module, function, trips=trips, stops_early=stops_early)
        yield found.verdict | ({"phase"} if found.overfull else set())


@each
def test_right_program_has_no_mistake_in_any_interleaving(exhibit: Exhibit) -> None:
    assert set().union(*explored(exhibit.good)) == set()


@each
def test_wrong_program_goes_wrong_in_some_interleaving(exhibit: Exhibit) -> None:
    assert exhibit.finding is not None
    violation = exhibit.finding.violation
    if violation.kind in UNKNOWN or exhibit.name in NOT_MODELLED | TOO_LARGE:
        return
    shows_as = str(violation.symptom or violation.kind)
    any_will_do = shows_as == str(ViolationKind.PHASE)
    assert any(found if any_will_do else shows_as in found for found in explored(exhibit.bad, stops_early=any_will_do))
