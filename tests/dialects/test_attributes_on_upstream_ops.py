"""
Attributes that passes leave on ops of MLIR's own (`loop.stage`, `ttg.partition`): read where mlir-opt prints them.

    %c = arith.cmpi slt, %a, %b {loop.stage = 1 : i32} : i32

Every op of `arith` and `math` that xDSL can make from its operands' types is written in generic form with an attribute.
mlir-opt prints it in custom form, and that is what we read, and print again.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, StringAttr, f16, f32, f64, i1, i32, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.irdl import IRDLOperation

from tests.support.ir import parse, print_custom, print_generic
from tests.support.mlir import mlir_opt
from tileas_xdsl.tools.inputs import full_context

TAG = {"loop.stage": IntegerAttr(1, i32), "async_task_id": StringAttr("0")}
SEPARATOR = "\n// -----\n"
CASTS = {"arith.extf": (f32, f64), "arith.truncf": (f32, f16)}
"""Those that xDSL also makes of types that mlir-opt refuses."""
TYPES = (i32, f32, i1, i64, IndexType())
PREDICATES = {"predicate": IntegerAttr(2, i64), "value": IntegerAttr(1, i32)}
BY_HAND = (
    "%r = scf.if %c -> i32 { scf.yield %x : i32 } else { scf.yield %x : i32 } {loop.stage = 1 : i32}",
    "%r = scf.for %i = %x to %x step %x iter_args(%a = %x) -> i32 : i32 { scf.yield %a : i32 } {loop.stage = 1 : i32}",
    "%r = scf.while (%a = %x) : (i32) -> i32 { scf.condition(%c) {loop.stage = 1 : i32} %a : i32 } do {"
    " ^bb0(%b: i32): scf.yield {loop.stage = 1 : i32} %b : i32 } attributes {loop.stage = 1 : i32}",
    "%r = scf.execute_region -> i32 no_inline { scf.yield %x : i32 } {loop.stage = 1 : i32}",
    "scf.execute_region { scf.yield } {loop.stage = 1 : i32}",
    "%r = scf.index_switch %n {loop.stage = 1 : i32} -> i32 default { scf.yield %x : i32 }",
    "cf.br ^next {loop.stage = 1 : i32} ^next: cf.cond_br %c, ^end, ^end {loop.stage = 1 : i32} ^end:",
    "%r = ub.poison {loop.stage = 1 : i32} : i32",
)


def _built(op: type[IRDLOperation]) -> Operation | None:
    """One op of the class, with operands of some types that it takes."""
    definition = op.get_irdl_definition()
    choices = [CASTS[op.name]] if op.name in CASTS else product(TYPES, repeat=1 + (len(definition.results) > 0))
    for chosen in choices:
        block = Block(arg_types=[chosen[0]] * len(definition.operands))
        properties: dict[str, Attribute] = {
            name: PREDICATES[name] for name in definition.properties if name in PREDICATES
        }
        made = op.create(
            operands=block.args, result_types=[chosen[-1]] * len(definition.results), properties=properties
        )
        block.add_op(made)
        made.attributes |= TAG
        try:
            made.verify()
        except Exception:  # xDSL's verifiers ask operands of other types for what these lack.
            continue
        return made
    return None


@cache
def _ops() -> dict[str, Operation]:
    """Op by name, of all that can be made."""
    context = full_context()
    found: dict[str, Operation] = {}
    for name in ("arith", "math"):
        dialect = context.get_optional_dialect(name)
        assert dialect is not None
        for op in dialect.operations:
            assert issubclass(op, IRDLOperation)
            if (made := _built(op)) is not None:
                found[made.name] = made
    return found


def test_ops_of_every_kind_were_made() -> None:
    assert len(_ops()) > 80


@cache
def _printed_by_mlir() -> dict[str, str]:
    """Function around an op, as mlir-opt prints it in custom form."""
    texts: list[str] = []
    for op in _ops().values():
        block = op.parent_block()
        assert block is not None
        copy = Block(arg_types=block.arg_types)
        copy.add_op(op.clone(dict(zip(block.args, copy.args, strict=True))))
        copy.add_op(ReturnOp())
        texts.append(print_generic(ModuleOp([FuncOp("f", (copy.arg_types, []), Region(copy))])))
    printed = mlir_opt(SEPARATOR.join(texts), "-split-input-file").split(SEPARATOR.strip())
    return dict(zip(_ops(), printed, strict=True))


def _tagged(module: ModuleOp) -> dict[str, dict[str, Attribute]]:
    """Name -> attributes, of the ops that have any."""
    return {op.name: op.attributes for op in module.walk() if TAG.keys() & op.attributes.keys()}


def test_attributes_are_read_where_mlir_prints_them() -> None:
    for name, text in _printed_by_mlir().items():
        module = parse(text)
        assert _tagged(module) == {name: TAG}, text
        assert _tagged(parse(print_custom(module))) == {name: TAG}, text


@pytest.mark.parametrize("line", BY_HAND)
def test_attributes_of_control_flow_are_read(line: str) -> None:
    text = f"func.func @f(%c: i1, %x: i32, %n: index) {{ {line} func.return }}"
    module = parse(text)
    assert line.count("loop.stage") == sum("loop.stage" in op.attributes for op in module.walk())
    printed = print_generic(parse(mlir_opt(text)))
    assert printed.count("loop.stage") == line.count("loop.stage")
    assert print_generic(parse(print_custom(module))) == print_generic(module)
