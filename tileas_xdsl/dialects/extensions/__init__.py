"""
Ops and custom forms of MLIR's dialects that xDSL's versions of these lack: one file a dialect.

    arith    casts, comparisons and selections element by element; index_castui
    cf       what MLIR refuses of branches
    func     what MLIR refuses on a function
    gpu      the custom forms of device code, #gpu.address_space
    llvm     atomicrmw, cmpxchg, fence, addrspacecast, the custom forms of load and store, #llvm.loop_annotation
    memref   the custom forms of atomic_rmw and copy
    literals elements of tiles of floats that are written as bits
    scf      forall; the custom forms of parallel, and of while without arguments; what MLIR refuses of an if

The names of these dialects are xDSL's, and a plug-in may not register a name twice. So `universe.py` puts a loader in
the place of xDSL's, which adds what is here to the dialect that it loads. Ops of xDSL stay the classes that they are: a
custom form, a property, or a check for their verifier, is given to the class itself, when its dialect is loaded.

A form follows what mlir-opt 22 prints and accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import AttrConstraint, IRDLOperation, OptPropertyDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

DYNAMIC = -(1 << 63)
"""`ShapedType::kDynamic`: stands for an operand in an array of numbers."""

ParseForm = Callable[[type[Any], Parser], Operation]
PrintForm = Callable[[Any, Printer], None]


def with_ops(dialect: Dialect, ops: Sequence[type[Operation]]) -> Dialect:
    """`dialect` with `ops` beside its own."""
    known = {op.name for op in dialect.operations}
    more = [op for op in ops if op.name not in known]
    return Dialect(dialect.name, [*dialect.operations, *more], list(dialect.attributes), list(_interfaces(dialect)))


def with_attributes(dialect: Dialect, attributes: Sequence[type[Attribute]]) -> Dialect:
    """`dialect` with `attributes` beside its own."""
    known = {attribute.name for attribute in dialect.attributes}
    more = [attribute for attribute in attributes if attribute.name not in known]
    ops, interfaces = list(dialect.operations), list(_interfaces(dialect))
    return Dialect(dialect.name, ops, [*dialect.attributes, *more], interfaces)


def _interfaces(dialect: Dialect) -> Any:
    return getattr(dialect, "_interfaces")  # noqa: B009  (xDSL gives them by class only)


def give_form(op: type[Operation], parse: ParseForm, print_: PrintForm) -> None:
    """Let `op`, a class of xDSL's that has no custom form, be read by `parse` and written by `print_`."""
    _ = op.traits  # `tools/start/` lets xDSL define it when it is first asked, and what it defines is replaced here
    setattr(op, "parse", classmethod(parse))  # noqa: B010  (pyright knows it as a method of the class)
    setattr(op, "print", print_)  # noqa: B010


def give_properties(op: type[IRDLOperation], properties: Mapping[str, AttrConstraint]) -> None:
    """Let `op`, a class of xDSL's, have further properties, each of which may be left out."""
    known = op.get_irdl_definition().properties
    known.update({name: OptPropertyDef(kind) for name, kind in properties.items() if name not in known})


def give_check(op: type[Operation], check: Callable[[Any], None]) -> None:
    """Let the verifier of `op`, a class of xDSL's, also ask `check`, which raises `VerifyException`."""
    _ = op.traits  # as above
    own = op.verify_
    if getattr(own, "__wrapped__", None) is check:
        return

    @wraps(check)
    def verify_(self: Operation) -> None:
        own(self)
        check(self)

    setattr(op, "verify_", verify_)  # noqa: B010


def check_branches(jump: type[Operation], branch: type[Operation]) -> None:
    """Let the branches between blocks of a dialect, without and with a condition, refuse arguments of other blocks."""
    give_check(jump, _check_one_target)
    give_check(branch, _check_both_targets)


def _check_one_target(op: Any) -> None:
    _check_target(0, op.successor, op.arguments)


def _check_both_targets(op: Any) -> None:
    _check_target(0, op.then_block, op.then_arguments)
    _check_target(1, op.else_block, op.else_arguments)


def _check_target(number: int, block: Block, arguments: Sequence[SSAValue]) -> None:
    if len(arguments) != len(block.args):
        raise VerifyException(
            f"branch has {len(arguments)} operands for successor #{number}, but target block has {len(block.args)}"
        )
    for place, (given, taken) in enumerate(zip(arguments, block.args, strict=True)):
        if given.type != taken.type:
            raise VerifyException(f"type mismatch for bb argument #{place} of successor #{number}")


def replace_check(op: type[IRDLOperation], check: Callable[[Any], None]) -> None:
    """Let the verifier of `op`, a class of xDSL's, ask its definition and `check`, in place of what it asks itself."""
    definition = op.get_irdl_definition()

    @wraps(check)
    def verify_(self: Operation) -> None:
        definition.verify(self)
        check(self)

    setattr(op, "verify_", verify_)  # noqa: B010


def numbers(values: Sequence[int]) -> DenseArrayBase[Any]:
    """An array of 64-bit numbers, as an attribute."""
    return DenseArrayBase.from_list(i64, values)


def types_in_parens_or_one(parser: Parser) -> list[Attribute]:
    """The types behind an arrow: one, or a list in parentheses."""
    several = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return [parser.parse_type()] if several is None else list(several)
