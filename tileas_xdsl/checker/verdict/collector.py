"""
Fewer collections while many small objects are made that all live for a while: `with seldom_collecting():`.

An execution makes steps, accesses and clocks by the thousand and keeps them. Python's collector walks all that is alive
whenever some hundred objects have been made, which takes a third of the time of a check.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

SELDOM = 50_000
"""So many objects may be made before the youngest are looked at; Python's own number is 700."""


@contextmanager
def seldom_collecting() -> Generator[None]:
    """Inside, the collector looks at the youngest objects only after `SELDOM` have been made; 0 (never) stays 0."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], SELDOM), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
