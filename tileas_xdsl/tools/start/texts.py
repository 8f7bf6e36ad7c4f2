"""
numpy writes the documentation of its functions into them when it is imported, and the bindings that do so are a seventh
of its import. No command shows them: here the modules that hold these texts are empty.
"""

from __future__ import annotations

import sys
from types import ModuleType

TEXTS = ("numpy._core._add_newdocs", "numpy._core._add_newdocs_scalars")
"""Modules of numpy that only add documentation to what others define."""


def leave_out_texts_of_numpy() -> None:
    """Let the modules `TEXTS` count as imported, unless numpy is."""
    if "numpy" not in sys.modules:
        sys.modules.update({name: ModuleType(name) for name in TEXTS if name not in sys.modules})
