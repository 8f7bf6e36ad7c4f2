"""
A module of the `llvm` dialect as LLVM IR: globals, functions, blocks. Arguments of blocks become phi nodes.

    ^loop(%i: i32, %acc: f32):                loop:
      ...                               ->      %i = phi i32 [ 0, %entry ], [ %next, %body ]
                                                %acc = phi float [ 0.0, %entry ], [ %sum, %body ]

Source: LLVM's language reference, "Module Structure".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tileas_xdsl.backend.llvm_ir.attributes import argument, convention, function
from tileas_xdsl.backend.llvm_ir.instructions import CONSTANTS, INSTRUCTIONS, unwritten
from tileas_xdsl.backend.llvm_ir.lines import Lines
from tileas_xdsl.backend.llvm_ir.literals import constant, quoted, symbol
from tileas_xdsl.backend.llvm_ir.names import Names
from tileas_xdsl.diagnostics import op_name, refuse

HEADER = (("llvm.data_layout", "datalayout"), ("llvm.target_triple", "triple"))

LOWERED_BY = {
    "nvvm": "run convert-nvvm-to-llvm first",
    "func": "run convert-to-llvm first",
    "arith": "run convert-to-llvm first",
    "memref": "run convert-to-llvm first",
    "scf": "run convert-to-llvm first",
    "cf": "run convert-to-llvm first",
}


def llvm_ir_of(module: ModuleOp, *, names_structs: bool = False, with_lines: bool = False) -> str:
    """
    The text of LLVM IR for a module of `llvm`; an op that has none is refused by name. A product of a warpgroup gives a
    struct of up to 128 members, which each op that takes one out writes: with `names_structs` by a name. `with_lines`
    it says of each instruction where its op stands in the program.
    """
    names = Names(structs={} if names_structs else None, lines=Lines() if with_lines else None)
    header = [*_header(module)]
    lines: list[str] = []
    for op in module.ops:
        match op:
            case llvm.GlobalOp():
                lines.append(_global(op, names))
            case llvm.FuncOp():
                lines += ["", *_function(op, names)] if _is_written(op) else []
            case _:
                _refuse_unknown(op)
    if names.groups:
        lines += ["", *(f"attributes #{number} = {{ {words} }}" for words, number in names.groups.items())]
    structs = [f"{name} = type {struct}" for struct, name in (names.structs or {}).items()]
    metadata = names.lines.text() if names.lines is not None else []
    return "\n".join([*header, *structs, *lines, *metadata]).strip("\n") + "\n"


def _header(module: ModuleOp) -> Iterator[str]:
    for name, word in HEADER:
        value = module.attributes.get(name)
        if isinstance(value, StringAttr) and value.data:
            yield f"target {word} = {quoted(value.data)}"


def _is_written(op: llvm.FuncOp) -> bool:
    """Intrinsics declare themselves."""
    return bool(op.body.blocks) or not op.sym_name.data.startswith("llvm.")


def _refuse_unknown(op: Operation) -> None:
    dialect = op_name(op).split(".")[0]
    way_out = LOWERED_BY.get(dialect, "lower it to the llvm dialect first")
    refuse(op, "has no text in LLVM IR", way_out)


# Globals --------------------------------------------------------------------------------------------------------------


def _global(op: llvm.GlobalOp, names: Names) -> str:
    linkage = op.linkage.linkage.data
    space = op.addr_space.value.data
    words = [linkage, f"addrspace({space})" if space else "", "constant" if op.constant is not None else "global"]
    text = " ".join(filter(None, words))
    initial = _initial_value(op, names) if linkage != "external" or _has_value(op) else ""
    alignment = cast("IntegerAttr[Any]", op.alignment).value.data if op.alignment is not None else 0
    section = f", section {quoted(op.section.data)}" if op.section is not None else ""
    aligned = f", align {alignment}" if alignment else ""
    type_ = names.type(op.global_type, op)
    return f"{symbol(op.sym_name.data)} = {text} {type_}{initial}{section}{aligned}"


def _has_value(op: llvm.GlobalOp) -> bool:
    return op.value is not None or bool(op.body.blocks)


def _initial_value(op: llvm.GlobalOp, names: Names) -> str:
    if op.value is not None:
        return f" {constant(op.value, op.global_type, op)}"
    if not op.body.blocks:
        return " undef"
    names.start_function()
    for inner in op.body.block.ops:
        if isinstance(inner, llvm.ReturnOp):
            return f" {names.of(inner.operands[0])}"
        if type(inner) not in CONSTANTS:
            refuse(op, f"computes its initial value with '{op_name(inner)}'", "make it a constant")
        names.stands_for(inner.results[0], CONSTANTS[type(inner)](inner, names))
    refuse(op, "has a region that returns nothing", "return the initial value")


# Functions ------------------------------------------------------------------------------------------------------------


def _function(op: llvm.FuncOp, names: Names) -> Iterator[str]:
    names.start_function()
    type_ = op.function_type
    if type_.is_variadic:
        refuse(op, "takes any number of arguments", "say which")
    blocks = list(op.body.blocks)
    given = op.arg_attrs.data if op.arg_attrs is not None else ()
    arguments: list[str] = []
    for number, each in enumerate(type_.inputs):
        words = argument(given[number].data, op) if given else ""
        name = f" {names.of(blocks[0].args[number])}" if blocks else ""
        arguments.append(f"{names.type(each, op)}{words}{name}")
    attributes = function(op)
    group = f" {names.group(attributes)}" if attributes else ""
    linkage = "" if op.linkage.linkage.data == "external" else f"{op.linkage.linkage.data} "
    result = names.type(type_.output, op)
    head = f"{linkage}{convention(op)}{result} {symbol(op.sym_name.data)}({', '.join(arguments)}){group}"
    if not blocks:
        yield f"declare {head}"
        return
    yield f"define {head}{names.lines.enter(op) if names.lines is not None else ''} {{"
    yield from _body(blocks, names)
    yield "}"


def _body(blocks: list[Block], names: Names) -> Iterator[str]:
    for block in blocks:
        for op in block.ops:
            if type(op) in CONSTANTS:
                _check(op)
                names.stands_for(op.results[0], CONSTANTS[type(op)](op, names))
    edges = _edges(blocks, names)
    for number, block in enumerate(blocks):
        yield f"{names.block(block)}:"
        if number:
            yield from (f"  {line}" for line in _phis(block, edges.get(block, []), names))
        for op in block.ops:
            if type(op) not in CONSTANTS:
                place = names.lines.of(op) if names.lines is not None else ""
                yield from (f"  {line}{place}" if not line.endswith(":") else line for line in _lines(op, names))


def _lines(op: Operation, names: Names) -> Iterator[str]:
    match op:
        case llvm.BrOp():
            yield f"br label %{names.block(op.successor)}"
        case llvm.CondBrOp():
            yield from _conditional_branch(op, names)
        case llvm.ReturnOp():
            yield f"ret {names.typed(op.operands[0], op)}" if op.operands else "ret void"
        case llvm.UnreachableOp():
            yield "unreachable"
        case _:
            yield _instruction(op, names)


def _instruction(op: Operation, names: Names) -> str:
    if type(op) not in INSTRUCTIONS:
        _refuse_unknown(op)
    _check(op)
    text = INSTRUCTIONS[type(op)](op, names)
    return f"{names.of(op.results[0])} = {text}" if op.results else text


def _check(op: Operation) -> None:
    lost = unwritten(op)
    if lost is not None:
        refuse(op, f"has the property '{lost}', which its text in LLVM IR would lose", "leave it out")


# Edges ----------------------------------------------------------------------------------------------------------------

Edge = tuple[str, list[SSAValue]]
"""The label that control comes from, and the values that it brings."""


def _needs_a_block(op: llvm.CondBrOp) -> bool:
    """A block that both ways lead to with values of their own: a phi node has one value a predecessor."""
    return op.then_block is op.else_block and bool(op.then_arguments)


def _between(op: llvm.CondBrOp, names: Names) -> str:
    block = op.parent_block()
    assert block is not None
    return f"{names.block(block)}.else"


def _conditional_branch(op: llvm.CondBrOp, names: Names) -> Iterator[str]:
    then, otherwise = names.block(op.then_block), names.block(op.else_block)
    split = _needs_a_block(op)
    to = _between(op, names) if split else otherwise
    yield f"br {names.typed(op.cond, op)}, label %{then}, label %{to}"
    if split:
        yield f"{to}:"
        yield f"br label %{otherwise}"


def _edges(blocks: list[Block], names: Names) -> dict[Block, list[Edge]]:
    """For each block, where control comes from."""
    found: dict[Block, list[Edge]] = {}
    for block in blocks:
        label = names.block(block)
        match last := block.last_op:
            case llvm.BrOp():
                found.setdefault(last.successor, []).append((label, list(last.operands)))
            case llvm.CondBrOp():
                found.setdefault(last.then_block, []).append((label, list(last.then_arguments)))
                if _needs_a_block(last):
                    label = _between(last, names)
                found.setdefault(last.else_block, []).append((label, list(last.else_arguments)))
            case llvm.ReturnOp() | llvm.UnreachableOp():
                pass
            case None:
                refuse(_owner(block), "has a block that does not end", "end it with llvm.return")
            case _:
                _refuse_unknown(last)
    return found


def _owner(block: Block) -> Operation:
    owner = block.parent_op()
    assert owner is not None
    return owner


def _phis(block: Block, edges: list[Edge], names: Names) -> Iterator[str]:
    """The last edge comes first, as in the text that MLIR's translation writes."""
    for number, value in enumerate(block.args):
        incoming = ", ".join(f"[ {names.of(given[number])}, %{label} ]" for label, given in reversed(edges))
        yield f"{names.of(value)} = phi {_type(value.type, block, names)} {incoming}"


def _type(type_: Attribute, block: Block, names: Names) -> str:
    return names.type(type_, _owner(block))
