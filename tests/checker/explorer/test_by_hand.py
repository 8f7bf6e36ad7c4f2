"""The explorer on kernels that were judged by hand."""

from __future__ import annotations

import pytest

from tests.checker.explorer.by_hand import PROGRAMS, SAFE, WRONG
from tests.checker.explorer.explorer import explore
from tests.checker.explorer.kernels import text_of
from tests.support.ir import parse


@pytest.mark.parametrize("name", PROGRAMS)
def test_verdict(name: str) -> None:
    known = PROGRAMS[name]
    found = explore(parse(text_of(known.kernel)), stops_early=known.verdict == WRONG)
    if known.verdict == SAFE:
        assert found.verdict == set(), found.witnesses
    elif known.verdict == WRONG:
        assert found.verdict
    else:
        assert known.verdict in found.verdict
