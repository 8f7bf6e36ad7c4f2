"""
From registers to values: each has one step that gives it (pruned SSA, by dominance frontiers).

    @%p bra L                               ^1: a = 1
    mov.b32 %r1, 1                          ^2: b = phi(a, c)
    L: add.s32 %r2, %r1, 3

A phi stands where two definitions of a register meet and the register is still read. Its operands are in the order of
the predecessors of its block. Then copies are forwarded, and phis of one value removed. A register that is read before
it is written is a value without a step.

Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, "Efficiently Computing Static Single Assignment Form and the Control
Dependence Graph" (1991).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tileas_xdsl.analysis.dominance import immediate_dominators
from tileas_xdsl.readers.ptx.steps import Block, Constant, Operand, Register, Result, Step, Value
from tileas_xdsl.readers.ptx.syntax import Instruction

Dominators = Mapping[Block, Block]


def to_values(blocks: list[Block]) -> None:
    """Rename all registers of `blocks`, the first of which is entered."""
    dominators = immediate_dominators(blocks[0], lambda block: block.successors)
    live = _live_at_entry(blocks)
    placed = _place_phis(blocks, dominators, live)
    _rename(blocks, dominators, placed)
    simplify(blocks)


def frontiers(blocks: Iterable[Block], dominators: Dominators) -> Mapping[Block, list[Block]]:
    """The blocks where the dominance of each ends."""
    found: dict[Block, dict[Block, None]] = defaultdict(dict)
    for block in blocks:
        if len(block.predecessors) < 2:
            continue
        for before in block.predecessors:
            runner = before
            while runner is not dominators.get(block):
                found[runner][block] = None
                if runner not in dominators:
                    break
                runner = dominators[runner]
    return {block: list(those) for block, those in found.items()}


def _live_at_entry(blocks: list[Block]) -> Mapping[Block, set[Register]]:
    """The registers that are read before they are written, from the beginning of each block on."""
    read: dict[Block, set[Register]] = {}
    written: dict[Block, set[Register]] = {}
    for block in blocks:
        ups: set[Register] = set()
        done: set[Register] = set()
        for step in block.steps:
            for operand in (*step.operands, *step.stored):
                if isinstance(operand, Register) and operand not in done:
                    ups.add(operand)
            done.update(result for result in step.results if isinstance(result, Register))
        if isinstance(block.condition, Register) and block.condition not in done:
            ups.add(block.condition)
        read[block], written[block] = ups, done
    live = {block: set(registers) for block, registers in read.items()}
    worklist = list(blocks)
    while worklist:
        block = worklist.pop()
        for before in block.predecessors:
            new = (live[block] - written[before]) - live[before]
            if new:
                live[before] |= new
                worklist.append(before)
    return live


def _place_phis(
    blocks: list[Block], dominators: Dominators, live: Mapping[Block, set[Register]]
) -> Mapping[Block, dict[Register, Step]]:
    frontier = frontiers(blocks, dominators)
    writers: dict[Register, list[Block]] = defaultdict(list)
    for block in blocks:
        for step in block.steps:
            for result in step.results:
                if isinstance(result, Register) and (not writers[result] or writers[result][-1] is not block):
                    writers[result].append(block)
    placed: dict[Block, dict[Register, Step]] = {block: {} for block in blocks}
    for register, homes in writers.items():
        worklist = list(homes)
        while worklist:
            for block in frontier.get(worklist.pop(), ()):
                if register in placed[block] or register not in live[block]:
                    continue
                phi = Step("phi", "", [register] * len(block.predecessors), [register], _instruction_in(blocks, block))
                placed[block][register] = phi
                block.phis.append(phi)
                worklist.append(block)
    return placed


def _instruction_in(blocks: list[Block], block: Block) -> Instruction:
    """Some instruction of `block`, or of the kernel: where a phi is placed."""
    for each in (block, *block.predecessors, *blocks):
        if each.steps:
            return each.steps[0].instruction
        if each.branch is not None:
            return each.branch
    raise AssertionError("a kernel with phis has instructions")


def _rename(blocks: list[Block], dominators: Dominators, placed: Mapping[Block, dict[Register, Step]]) -> None:
    children: dict[Block, list[Block]] = defaultdict(list)
    for block, parent in dominators.items():
        children[parent].append(block)
    names: dict[Register, list[Operand]] = defaultdict(list)
    undefined: dict[Register, Value] = {}

    def current(operand: Operand) -> Operand:
        if not isinstance(operand, Register):
            return operand
        if names[operand]:
            return names[operand][-1]
        return undefined.setdefault(operand, Value(operand.bits, None, operand.type))

    def define(step: Step, pushed: list[Register]) -> None:
        for number, result in enumerate(step.results):
            if isinstance(result, Register):
                value = Value(result.bits, step, result.type)
                step.results[number] = value
                names[result].append(value)
                pushed.append(result)

    def visit(block: Block) -> list[Register]:
        pushed: list[Register] = []
        for phi in block.phis:
            define(phi, pushed)
        for step in block.steps:
            step.operands = [current(operand) for operand in step.operands]
            step.stored = [current(operand) for operand in step.stored]
            if step.what == "copy":
                source, target = step.operands[0], step.results[0]
                assert isinstance(target, Register)
                names[target].append(source)
                pushed.append(target)
            else:
                define(step, pushed)
        block.steps = [step for step in block.steps if step.what != "copy"]
        if block.condition is not None:
            block.condition = current(block.condition)
        for successor in dict.fromkeys(block.successors):
            for register, phi in placed[successor].items():
                for number, before in enumerate(successor.predecessors):
                    if before is block:
                        phi.operands[number] = current(register)
        return pushed

    stack: list[tuple[Block, list[Register] | None]] = [(blocks[0], None)]
    while stack:
        block, pushed = stack.pop()
        if pushed is not None:
            for register in pushed:
                names[register].pop()
            continue
        stack.append((block, visit(block)))
        stack.extend((child, None) for child in reversed(children[block]))


# Simplification -------------------------------------------------------------------------------------------------------


def simplify(blocks: list[Block]) -> None:
    """Remove phis of one value, until there are none."""
    changed = True
    renamed: dict[Operand, Operand] = {}

    def final(operand: Operand) -> Operand:
        while operand in renamed:
            operand = renamed[operand]
        return operand

    while changed:
        changed = False
        for block in blocks:
            kept: list[Step] = []
            for phi in block.phis:
                phi.operands = [final(operand) for operand in phi.operands]
                others = set(phi.operands) - {phi.results[0]}
                if len(others) == 1:
                    renamed[phi.results[0]] = others.pop()
                    changed = True
                else:
                    kept.append(phi)
            block.phis = kept
    replace(blocks, renamed)


def replace(blocks: list[Block], renamed: Mapping[Operand, Operand]) -> None:
    """Name other values wherever those of `renamed` are read."""

    def final(operand: Operand) -> Operand:
        while operand in renamed:
            operand = renamed[operand]
        return operand

    if not renamed:
        return
    for block in blocks:
        for step in (*block.phis, *block.steps):
            step.operands = [final(operand) for operand in step.operands]
            step.stored = [final(operand) for operand in step.stored]
        if block.condition is not None:
            block.condition = final(block.condition)


def value_of(result: Result) -> Value:
    """A result behind `to_values`."""
    assert isinstance(result, Value)
    return result


__all__ = ["Constant", "Value", "frontiers", "replace", "simplify", "to_values", "value_of"]
