"""
`check(kernel, signature=...)`: a kernel with the types of its arguments.

A signature is written as for Triton's ahead-of-time compiler (`triton.tools.compile`): `"*fp16"` is a pointer,
`"i32:16"` a number that 16 divides, `"i32:1"` the number 1. Pointers count as divisible by 16, as those of torch are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from tileas_xdsl.checker.verdict.checking import CheckOptions
from tileas_xdsl.diagnostics import did_you_mean
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.python import DEFAULT
from tileas_xdsl.triton.compiling import compiled, need_triton, place_of_kernel, target_named
from tileas_xdsl.triton.edited_kernel import Form, edit_of_form
from tileas_xdsl.triton.host.driver import driver_for
from tileas_xdsl.triton.host.launching import function_of, source_of
from tileas_xdsl.triton.kernel_report import KernelReport, report_on, with_stated
from tileas_xdsl.triton.ptx_level import parameter_names, with_ptx

LEVELS = ("ttgir", "ptx")
CONSTANT = "constexpr"
DIVISIBLE = [["tt.divisibility", 16]]
"""How Triton's compiler is told that 16 divides an argument."""


def check(
    kernel: Any,
    *,
    signature: Mapping[str, str],
    constexprs: Mapping[str, Any] | None = None,
    target: str = DEFAULT,
    level: Literal["ttgir", "ptx"] = "ttgir",
    edit: bool = True,
    **options: Any,
) -> KernelReport:
    """
    Compile `kernel` for `target` as far as TTGIR, and check that for every trip count.

    `signature` maps the names of arguments to types; `constexprs` gives the compile-time constants, which may be left
    out of it. `options` are those of `checker.verdict.checking.check` (`args={"n": 8}` fixes scalar arguments to
    numbers, `assume=["K >= 1"]` leaves out calls, `timeout` and `steps` end the check), and those of Triton:
    `num_warps=8`, `num_stages=2`. Preconditions may stand in the kernel, too: `# tileas: assume K >= 1`. With
    `level="ptx"` the PTX that Triton makes of it is checked as well. The report on a kernel with one mistake shows the
    edit that repairs it, if one is found; the search takes about as long as the check, and `edit=False` leaves it out.

    Raises `InputError` where Triton is not there, does not know an argument or an option, or does not compile the
    kernel, and for what has no meaning here: it names the op and its Python line.
    """
    need_triton()
    function = function_of(kernel)
    given, constants, attributes = arguments_of(function, signature, constexprs or {})
    device = target_named(target)
    asked = cast("CheckOptions", {name: options[name] for name in options if name in CheckOptions.__annotations__})
    options = {name: value for name, value in options.items() if name not in asked}
    _must_be_options(function, device, options)
    source = source_of(function)(function, given, constants, attributes)
    if level not in LEVELS:
        raise _wrong(function, f"there is no level '{level}'; there are: {', '.join(LEVELS)}")
    made = compiled(function, source, device, target, options, ptx=level == "ptx")
    asked = with_stated(asked, function)
    report = report_on(function.__name__, target, made.ttgir, asked)
    if edit:
        report.report.edit = edit_of_form(Form(function, source, device, target, options), report.report, asked)
    return report if made.ptx is None else with_ptx(report, made, asked, parameter_names(given, CONSTANT), edit=edit)


def arguments_of(
    function: Any, signature: Mapping[str, str], constexprs: Mapping[str, Any]
) -> tuple[dict[str, str], dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    """Signature, constants and attributes as Triton's compiler takes them: by name, by place and by place."""
    names: list[str] = list(function.arg_names)
    _must_be_known(function, names, [*signature, *constexprs])
    types: dict[str, str] = {}
    constants: dict[tuple[int, ...], Any] = {}
    attributes: dict[tuple[int, ...], Any] = {}
    for place, (name, parameter) in enumerate(zip(names, function.params, strict=True)):
        kind, _, hint = signature.get(name, CONSTANT).partition(":") if name not in constexprs else (CONSTANT, "", "")
        types[name] = CONSTANT if hint == "1" else kind
        if hint == "1":
            constants[place,] = 1
        elif kind == CONSTANT:
            constants[place,] = _constant(function, name, parameter, constexprs)
        elif hint == "16" or kind.startswith("*"):
            attributes[place,] = DIVISIBLE
        elif hint:
            raise _wrong(
                function, f"'{name}' is said to be '{signature[name]}': a type has ':16', ':1' or nothing behind it"
            )
    return types, constants, attributes


def _constant(function: Any, name: str, parameter: Any, constexprs: Mapping[str, Any]) -> Any:
    if name in constexprs:
        return constexprs[name]
    if parameter.has_default:
        return parameter.default
    raise _wrong(function, f"there is neither a type nor a value for the argument '{name}'")


def _must_be_known(function: Any, names: list[str], given: list[str]) -> None:
    for name in given:
        if name not in names:
            guess = did_you_mean(name, names) or f"; there are: {', '.join(names)}"
            raise _wrong(function, f"there is no argument '{name}'{guess}")


def _must_be_options(function: Any, device: Any, options: Mapping[str, Any]) -> None:
    from triton.compiler import make_backend  # pyright: ignore

    backend = cast("Any", make_backend(device))
    with driver_for(device, "options"):
        known = sorted([*vars(cast("object", backend.parse_options({}))), *CheckOptions.__annotations__])
    for name in options:
        if name not in known:
            guess = did_you_mean(name, known) or f"; there are: {', '.join(known)}"
            raise _wrong(function, f"Triton has no option '{name}'{guess}")


def _wrong(function: Any, complaint: str) -> InputError:
    return InputError([f"{place_of_kernel(function)}: error: {complaint}"])
