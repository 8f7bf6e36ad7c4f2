"""
The plug-in of stock `xdsl-opt`: it registers names, and imports code only when a name is used.

Every plug-in is imported at every start of `xdsl-opt`, so this file may import nothing of ours but the table of names,
nothing heavy, and it may not raise.
"""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from tileas_xdsl.names import DIALECTS, DRIVERS, PASSES, TARGETS, extensions, loaders

TILEAS = Universe(
    all_dialects=loaders("dialects", DIALECTS),
    all_passes=loaders("transforms", PASSES) | loaders("", DRIVERS),
    all_targets=loaders("backend", TARGETS),
)

# A plug-in may not register a name that xDSL has; so xDSL's own table gets the loaders that add what is missing there.
XDSL_UNIVERSE.all_dialects.update(extensions(XDSL_UNIVERSE.all_dialects))
