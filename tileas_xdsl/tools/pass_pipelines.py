"""
Pass pipelines as `xdsl-opt -p` spells them, with errors for people: `one,two{option=value}`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, VerifyException

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import verify_module
from tileas_xdsl.transforms.rewriting.choices import unknown_option, wrong_choice


def passes_named(pipeline: str) -> list[ModulePass]:
    """
    The passes of `pipeline`, ours and those of xDSL.

    Raises `InputError` for what is no pipeline, and for passes, options and values of options that do not exist.
    """
    try:
        return [_pass_of(spec) for spec in parse_pipeline(pipeline)]
    except ArgSpecParseError as error:
        raise InputError([f"error: -p {pipeline}: {error}"]) from None


def unknown_pass(name: str) -> InputError:
    """The error for a pass that does not exist, with the nearest one that does."""
    close = difflib.get_close_matches(name, Universe.get_multiverse().all_passes, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return InputError([f"error: there is no pass '{name}'\n  help: {guess}`tileas passes --all` lists them"])


def _pass_of(spec: ArgSpec) -> ModulePass:
    factory = Universe.get_multiverse().all_passes.get(spec.name)
    if factory is None:
        raise unknown_pass(spec.name)
    pass_type = factory()
    complaint = wrong_choice(pass_type, spec)
    if complaint is not None:
        raise InputError([f"error: {complaint}"])
    unknown = unknown_option(pass_type, spec)
    if unknown is not None:
        raise _unusable(spec, unknown)
    try:
        return pass_type.from_spec(spec)
    except ValueError as error:
        raise _unusable(spec, f"{spec.name}: {error}") from None


def _unusable(spec: ArgSpec, reason: str) -> InputError:
    """The error for options that a pass does not take."""
    return InputError([f"error: {reason}\n  help: `tileas passes {spec.name}` lists its options"])


def apply_passes(passes: Sequence[ModulePass], module: ModuleOp, context: Context) -> None:
    """
    Run `passes` on `module`, in place.

    Raises what they raise, and `InputError` for one that leaves a module which does not verify.
    """
    for step in passes:
        try:
            step.apply(context, module)
            verify_module(module)
        except VerifyException as error:
            raise InputError([f"error: {step.name}: {error}"]) from None
        except InputError as error:
            behind = f"\n  help: this is what {step.name} left, and a defect of that pass"
            raise InputError([f"{message}{behind}" for message in error.messages]) from None
