"""
Options of passes: those that do not exist, and those that take one word out of a few (`Literal["one", "other"]`).

    tileir{compute-capabilty=sm_90}  ->    tileir has no option 'compute-capabilty'; did you mean 'compute-capability'?
    tileir{pipeline-strategy=foo}    ->    tileir has no pipeline-strategy 'foo'; choose one of none, unspecialize, ...
"""

from __future__ import annotations

import dataclasses
from types import NoneType, UnionType
from typing import Any, Literal, Self, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec

from tileas_xdsl.diagnostics import did_you_mean


def choices_of(hint: object) -> tuple[object, ...]:
    """The values that a `Literal`, or a union of some, allows; empty where anything of the type goes."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not NoneType]
        if all(get_origin(part) is Literal for part in parts):
            return tuple(choice for part in parts for choice in choices_of(part))
    return ()


def unknown_option(pass_type: type[Any], spec: ArgSpec) -> str | None:
    """What is wrong with the first option in `spec` that `pass_type` does not have; None if it has all of them."""
    known = [field.name.replace("_", "-") for field in dataclasses.fields(pass_type) if field.init]
    given = (name.replace("_", "-") for name in spec.parameters)
    unknown = next((name for name in given if name not in known), None)
    return None if unknown is None else f"{spec.name} has no option '{unknown}'{did_you_mean(unknown, known)}"


def wrong_choice(pass_type: type[Any], spec: ArgSpec) -> str | None:
    """What is wrong with the first option in `spec` that is none of the choices of `pass_type`; None where all are."""
    hints = get_type_hints(pass_type)
    for name, given in spec.parameters.items():
        choices = choices_of(hints.get(name.replace("-", "_")))
        if choices and not (len(given) == 1 and given[0] in choices):
            option, known = name.replace("_", "-"), ", ".join(map(str, choices))
            return f"{spec.name} has no {option} '{','.join(map(str, given))}'; choose one of {known}"
    return None


class ChoosingPass(ModulePass):
    """A pass that says which words an option takes. Raises `ValueError` for any other word."""

    @classmethod
    def from_spec(cls, spec: ArgSpec) -> Self:
        complaint = wrong_choice(cls, spec)
        if complaint is not None:
            raise ValueError(complaint)
        return super().from_spec(spec)
