"""
`nv_tileaa`, the alias-aware tile dialect of TileAS: it says what data flows where, not yet how.

`nv_tileas` is the level below: queues become pipelines, `execute` becomes `agent_switch`, and the other ops become the
ops of the same name. TileAS names 73 ops of this dialect; docs/dialects/gap-table-nv_tileaa.md says which are here and
why the others are not.

Names and shapes of ops of which the sources document neither are ours and listed on the dialect's page; ops that are
only named are in the gap table and not invented.

`dialect` has all of them; who needs a few imports their files.
"""

from __future__ import annotations

from tileas_xdsl.dialects.nv_tileaa.regions import Patterns, find_patterns_by


def _patterns() -> Patterns:
    from tileas_xdsl.dialects.nv_tileaa.canonicalization import PATTERNS

    return PATTERNS


find_patterns_by(_patterns)
