"""
xDSL's classes of ops and attributes are abstract, so `isinstance` asks Python's `abc`. That also knows of classes which
were registered elsewhere, and takes longer than `type`. No class registers with these: here `type` answers.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from typing import Any, NoReturn

from typing_extensions import Protocol


class Plain(type(Protocol)):
    """
    The class of abstract classes whose instances are those of their subclasses alone. It is derived from the class of
    protocols so that a class may derive from both, and compares and hashes as `type` does.
    """

    __eq__ = type.__eq__
    __hash__ = type.__hash__
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    def register(cls, subclass: type[Any]) -> NoReturn:
        """Refuse: `isinstance` would not know."""
        raise TypeError(f"{cls.__name__} takes no virtual subclasses: derive {subclass.__name__} from it")


def ask_types_for_instances() -> None:
    """Let `type` answer for the abstract classes that xDSL has loaded, and for all that derive from them."""
    for module in [module for name, module in sys.modules.items() if name.startswith("xdsl.")]:
        for kind in vars(module).values():
            if type(kind) is ABCMeta and kind.__module__ == module.__name__:
                setattr(kind, "__class__", Plain)  # noqa: B010 - type checkers know no other metaclass
