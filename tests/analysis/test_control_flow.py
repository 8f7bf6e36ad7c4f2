"""Dominators and the sides of branches, against their definitions on random graphs of blocks."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import cf, func, test
from xdsl.dialects.builtin import FunctionType, i1
from xdsl.ir import Block, Region

from tileas_xdsl.analysis.dominance import immediate_dominators, sides_of

Graph = list[tuple[int, ...]]
"""The successors of each node; node 0 is where control begins."""

graphs = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=2).map(tuple), min_size=size, max_size=size)
)


def reached(graph: Graph, start: int, avoiding: int | None = None) -> set[int]:
    if start == avoiding:
        return set()
    found, worklist = {start}, [start]
    while worklist:
        for successor in graph[worklist.pop()]:
            if successor != avoiding and successor not in found:
                found.add(successor)
                worklist.append(successor)
    return found


@given(graphs)
def test_the_nearest_node_on_every_way_dominates_immediately(graph: Graph) -> None:
    nodes = reached(graph, 0)

    def dominators(node: int) -> set[int]:
        return {other for other in nodes if other != node and node not in reached(graph, 0, other)}

    found = immediate_dominators(0, graph.__getitem__)
    assert set(found) == nodes - {0}
    for node, immediate in found.items():
        assert dominators(immediate) | {immediate} == dominators(node)


def blocks_of(graph: Graph) -> Sequence[Block]:
    """Blocks of one function that lead to each other as `graph` says."""
    blocks = [Block() for _ in graph]
    for block, successors in zip(blocks, graph, strict=True):
        targets = [blocks[number] for number in successors]
        if len(targets) == 2:
            condition = test.TestOp(result_types=[i1])
            block.add_ops([condition, cf.ConditionalBranchOp(condition.results[0], targets[0], [], targets[1], [])])
        else:
            block.add_op(cf.BranchOp(targets[0]) if targets else func.ReturnOp())
    func.FuncOp("f", FunctionType.from_lists([], []), Region(blocks))
    return blocks


@given(graphs)
def test_sides_meet_in_the_nearest_block_on_every_way_to_the_end(graph: Graph) -> None:
    blocks = blocks_of(graph)
    ends = [node for node, successors in enumerate(graph) if not successors]
    for node in sorted(reached(graph, 0)):
        if len(graph[node]) != 2 or not reached(graph, node) & set(ends):
            continue
        sides = sides_of(blocks[node].last_op)  # pyright: ignore[reportArgumentType]
        behind = [
            other
            for other in reached(graph, node) - {node}
            if not any(end in reached(graph, node, other) for end in ends if end != other)
        ]
        join = None if sides.join is None else blocks.index(sides.join)
        assert (join is None) == (not behind)
        if join is None:
            continue
        assert join in behind
        assert all(other == join or other in reached(graph, join) for other in behind)
        for successor, side in zip(graph[node], sides.blocks, strict=True):
            assert {blocks.index(block) for block in side} == reached(graph, successor, join)
        assert sides.comes_back == any(node in reached(graph, successor, join) for successor in graph[node])
