"""
Which target is compiled for where the command does not say it.

A program that says its target (`nv_tileaa.compute_capability`) is compiled for that. Else machine code is for the GPU
of this machine, or for sm_90a where there is none; and a line says so. IR is for sm_90, whatever the machine has.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tileas_xdsl.backend.present_gpu import present_chip
from tileas_xdsl.dialects.nv_tileaa.attributes import compute_capability_of
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.targets.chips import PTX_VERSIONS, is_older
from tileas_xdsl.tools.errors import InputError

DEFAULT_CHIP = "sm_90a"
"""Of machine code, where there is no GPU."""
DEFAULT_TARGET = "sm_90"
"""Of IR."""


@dataclass(frozen=True)
class ChosenTarget:
    """A target, and the line that says why it is this one; None where somebody has asked for it."""

    name: str
    line: str | None = None


def chosen_target(asked: str | None, module: ModuleOp, *, is_machine_code: bool) -> ChosenTarget:
    """
    The target that `module` is compiled for, where `asked` is the caller's.

    Raises `InputError` for machine code of a chip that is older than what the program says it is for.
    """
    stated = stated_capability(module)
    if asked is not None:
        _refuse_older(asked, stated if is_machine_code else None)
        return ChosenTarget(asked)
    if stated is not None:
        name = f"sm_{stated}"
        own = f"{name}a"
        return ChosenTarget(own if is_machine_code and own in PTX_VERSIONS else name)
    if not is_machine_code:
        return ChosenTarget(DEFAULT_TARGET)
    present = present_chip()
    if present is not None:
        return ChosenTarget(present, f"target: {present}, the GPU of this machine; --target says another")
    return ChosenTarget(DEFAULT_CHIP, f"target: {DEFAULT_CHIP}, since this machine has no GPU; --target says another")


def stated_capability(module: ModuleOp) -> int | None:
    """The compute capability that the functions of a module say they are compiled for, the largest; None: none does."""
    stated = (compute_capability_of(function) for function in functions_in(module))
    return max((capability for capability in stated if capability is not None), default=None)


def _refuse_older(asked: str, stated: int | None) -> None:
    if stated is not None and is_older(asked, stated):
        raise InputError(
            [f"error: --target {asked}: the program says that it is compiled for sm_{stated}; leave out --target"]
        )
