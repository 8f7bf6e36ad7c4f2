"""
xDSL's `irdl_op_definition` reads the constraints and the syntax of an op where its class is made. Here that waits until
the op is parsed, built or asked.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

TRIGGERS = ("get_irdl_definition", "parse", "traits")
"""Names of an op class by which it is parsed or asked; to build an op is to ask for its definition."""


def define_ops_when_met() -> None:
    """Let `irdl_op_definition` wait until one of `TRIGGERS` of the class is asked for."""
    from xdsl import irdl
    from xdsl.irdl import operations  # noqa: TID251 - what `irdl` exports is defined there

    later = Later(irdl.irdl_op_definition)
    for module in (irdl, operations):
        setattr(module, "irdl_op_definition", later.decorate)  # noqa: B010


class Later:
    """A decorator of classes that does its work when a class is first used."""

    def __init__(self, define: Callable[[type[Any]], object]) -> None:
        self._define = define
        self._waiting: dict[type[Any], dict[str, Any]] = {}
        """What each class has under the names of its triggers."""
        self._lock = RLock()

    def decorate(self, kind: type[Any]) -> type[Any]:
        """The class, which is defined later."""
        own = vars(kind)
        self._waiting[kind] = {name: own[name] for name in TRIGGERS if name in own}
        for name in TRIGGERS:
            setattr(kind, name, Trigger(self.define, name))
        return kind

    def define(self, kind: type[Any]) -> None:
        """Define `kind`, and before that the classes that it inherits from."""
        with self._lock:
            for base in reversed(kind.__mro__):
                own = self._waiting.pop(base, None)
                if own is None:
                    continue
                for name in TRIGGERS:
                    if not isinstance(vars(base)[name], Trigger):
                        continue  # given to the class from outside meanwhile
                    if name in own:
                        setattr(base, name, own[name])
                    else:
                        delattr(base, name)
                self._define(base)


class Trigger:
    """What stands under a name of a class that is not defined yet: who asks for it gets what is there afterwards."""

    def __init__(self, define: Callable[[type[Any]], None], name: str) -> None:
        self._define = define
        self._name = name

    def __get__(self, _: object, kind: type[Any]) -> Any:
        self._define(kind)
        return getattr(kind, self._name)
