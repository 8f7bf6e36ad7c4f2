"""The loops that blocks make up, against their definition: whoever leads to a block that dominates it closes one."""

from __future__ import annotations

from random import Random

from xdsl.dialects import cf, scf, test
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region

from tests.support.corpora import each
from tests.support.ir import parse
from tileas_xdsl.analysis.dominance import successors_of
from tileas_xdsl.analysis.natural_loops import loop_with_turns_from, natural_loops


def random_region(seed: int) -> list[Block]:
    """Up to seven blocks; each leads to one or two others, or ends the region. None leads to the first."""
    rng = Random(f"blocks {seed}")
    blocks = [Block() for _ in range(rng.randint(2, 7))]
    for block in blocks:
        condition = test.TestOp(result_types=[i1])
        targets = [rng.choice(blocks[1:]) for _ in range(rng.choice((0, 1, 1, 2, 2, 2)))]
        block.add_op(condition)
        match targets:
            case []:
                block.add_op(test.TestTermOp())
            case [target]:
                block.add_op(cf.BranchOp(target))
            case _:
                block.add_op(cf.ConditionalBranchOp(condition.results[0], targets[0], [], targets[1], []))
    Region(blocks)
    return blocks


def reached(start: Block, without: Block | None = None) -> set[Block]:
    """`start` and what is reached from it on ways that do not lead through `without`."""
    found = set[Block]() if start is without else {start}
    worklist = list(found)
    while worklist:
        for successor in successors_of(worklist.pop()):
            if successor is not without and successor not in found:
                found.add(successor)
                worklist.append(successor)
    return found


def by_definition(blocks: list[Block]) -> dict[Block, set[Block]]:
    """Head -> the blocks of its loop: those that reach a branch back without the head. By deletion of blocks alone."""
    entry = blocks[0]
    alive = reached(entry)
    loops: dict[Block, set[Block]] = {}
    for head in alive:
        latches = [b for b in alive if head in successors_of(b) and b not in reached(entry, without=head)]
        if latches:
            ways = {b for b in alive if b is not head and any(latch in reached(b, without=head) for latch in latches)}
            loops[head] = {head} | ways
    return loops


@each("seed", range(2000), 300)
def test_loops_are_those_of_the_definition(seed: int) -> None:
    blocks = random_region(seed)
    expected = by_definition(blocks)
    region = blocks[0].parent
    assert region is not None
    found = natural_loops(region)
    assert {loop.head: set(loop.blocks) for loop in found.values()} == {
        head: loop for head, loop in expected.items() if any(found[b].head is head for b in loop)
    }
    for block in blocks:
        around = [head for head, loop in expected.items() if block in loop]
        nest = []
        loop = found.get(block)
        while loop is not None:
            nest.append(loop.head)
            loop = loop.around
        assert set(nest) == set(around)
        sizes = [len(expected[head]) for head in nest]
        assert sizes == sorted(sizes)


def test_the_first_block_is_the_head_of_no_loop() -> None:
    """MLIR lets no branch lead there; the parser of xDSL does."""
    block = Block()
    Region([block, Block([test.TestTermOp()])])
    block.add_op(cf.BranchOp(block))
    assert block.parent is not None
    assert natural_loops(block.parent) == {}


def test_what_stands_for_a_loop() -> None:
    module = parse("""
func.func @f(%n: index, %c: i1) {
  scf.for %i = %n to %n step %n {
  }
  cf.br ^head
^head:
  cf.cond_br %c, ^head, ^end
^end:
  func.return
}
""")
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    branch = next(op for op in module.walk() if isinstance(op, cf.ConditionalBranchOp))
    assert branch.parent is not None
    assert loop_with_turns_from(loop.body.block) is loop
    assert loop_with_turns_from(branch.parent) is branch
