"""
Who waits for whom: the asynchronous operations of a function and the tokens between them, as a graph.

What an op waits for, which token completes with it, and how tokens enter and leave its regions: all of it is asked
through `AsyncOpInterface` and `AsyncRegionOpInterface`; no op is known by name.

    %t = async_region.region [%a as %ready] {          argument %a -> region starts
      %u = async_region.copy [%ready] %x to %y         region starts -> copy
      async_region.yield after [%u]                    copy -> region is complete
    }
    async.await %t                                     region is complete -> await

A node is an asynchronous op, a blocking one (drawn with eight corners), the completion of an op with regions, an
argument of the function, or some other op through which tokens go (a group, a choice). A solid edge is a token. A
dashed edge is an order that no token makes: what an agent issues after a wait, or in the body of a task. A dotted edge
leads to the next iteration of a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from tileas_xdsl.diagnostics import op_name
from tileas_xdsl.interfaces import (
    AsyncOpInterface,
    AsyncRegionOpInterface,
    LoopLikeOpInterface,
    RegionBranchOpInterface,
)
from tileas_xdsl.tabular import Tabular
from tileas_xdsl.views.drawing import Arrow, Box, draw
from tileas_xdsl.views.notebook import picture_tag

ISSUES, BLOCKS, COMPLETES, ARGUMENT, OTHER = "issues", "blocks", "completes", "argument", "other"
"""The kinds of nodes."""
PROGRAM_ORDER = (ISSUES, BLOCKS, COMPLETES)
"""The kinds whose numbers are in the order of the program."""
TOKEN, ORDER, NEXT = "token", "order", "next iteration"
"""The kinds of edges."""

SHAPES = {ISSUES: "box", BLOCKS: "octagon", COMPLETES: "box", ARGUMENT: "plaintext", OTHER: "ellipse"}
STYLES = {TOKEN: "solid", ORDER: "dashed", NEXT: "dotted"}


@dataclass(frozen=True)
class Node:
    """
    One event of the graph: an op, a completion, an argument. The `number` of ops and completions is their place in
    program order.
    """

    number: int
    kind: str
    label: str
    cluster: tuple[int, ...] = ()
    """The regions around it: the numbers of the nodes at which their ops start, outermost first."""


@dataclass(frozen=True)
class WaitEdge:
    """`target` happens only after `source`; both are numbers of nodes."""

    source: int
    target: int
    kind: str = TOKEN


@dataclass
class WaitGraph(Tabular):
    """The nodes by number, and the edges, each once."""

    name: str
    nodes: list[Node] = field(default_factory=list[Node])
    edges: dict[WaitEdge, None] = field(default_factory=dict[WaitEdge, None])

    def __repr__(self) -> str:
        return f"WaitGraph(@{self.name}: {len(self.nodes)} nodes, {len(self.edges)} edges)"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each edge: what waits, for what, and why."""
        return [
            {"waits": self.nodes[edge.target].label, "for": self.nodes[edge.source].label, "kind": edge.kind}
            for edge in self.edges
        ]

    def to_dict(self) -> dict[str, Any]:
        """Nodes and edges by number."""
        return {
            "function": self.name,
            "nodes": [{"number": each.number, "kind": each.kind, "label": each.label} for each in self.nodes],
            "edges": [{"source": each.source, "target": each.target, "kind": each.kind} for each in self.edges],
        }

    def svg(self) -> str:
        """A picture that needs no other tool: what waits for something stands below it."""
        boxes = [Box(node.label, node.kind == BLOCKS) for node in self.nodes]
        arrows = [Arrow(e.source, e.target, STYLES[e.kind], backwards=e.kind == NEXT) for e in self.edges]
        return draw(boxes, arrows)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return picture_tag(self.svg(), repr(self))


def dependences(function: Operation) -> WaitGraph:
    """The graph of `function`, an op with regions. Linear in its ops, but for values that many regions pass on."""
    symbol = function.properties.get("sym_name") or function.attributes.get("sym_name")
    return _Builder(WaitGraph(getattr(symbol, "data", op_name(function)))).build(function)


def dependence_dot(function: Operation) -> str:
    """The graph of `function` in the language of Graphviz: `dot -Tsvg` draws it, bodies as boxes around their ops."""
    graph = dependences(function)
    lines = [f"digraph {_quoted(graph.name)} {{", '  node [fontname="monospace", fontsize=10];']
    members: dict[tuple[int, ...], list[Node]] = {}
    for node in graph.nodes:
        members.setdefault(node.cluster, []).append(node)
    lines += _dot_nodes(members, ())
    for edge in graph.edges:
        free = ", constraint=false" if edge.kind == NEXT else ""
        lines.append(f"  n{edge.source} -> n{edge.target} [style={STYLES[edge.kind]}{free}];")
    return "\n".join([*lines, "}"]) + "\n"


def dependence_svg(function: Operation) -> str:
    """The graph of `function` as a picture that needs no other tool: what waits for something stands below it."""
    return dependences(function).svg()


def _dot_nodes(members: Mapping[tuple[int, ...], Sequence[Node]], cluster: tuple[int, ...]) -> list[str]:
    """The nodes directly in `cluster`, and after each that has a body a box around what is in it."""
    indent = "  " * (len(cluster) + 1)
    lines: list[str] = []
    for node in members.get(cluster, ()):
        lines.append(f"{indent}n{node.number} [label={_quoted(node.label)}, shape={SHAPES[node.kind]}];")
        inside = (*cluster, node.number)
        if inside in members:
            lines += [f"{indent}subgraph cluster_{node.number} {{", f"{indent}  label={_quoted(node.label)};"]
            lines += [*_dot_nodes(members, inside), f"{indent}}}"]
    return lines


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class _Builder:
    """Walks a function once, and follows every dependence back to where it comes from."""

    def __init__(self, graph: WaitGraph) -> None:
        self.graph = graph
        self.starts: dict[Operation, int] = {}
        self.completions: dict[Operation, int] = {}
        self.partial: dict[SSAValue, int] = {}
        """The tokens of an op that are ready before it is complete."""
        self.incoming: dict[int, list[int]] = {}
        self.others: dict[SSAValue | Operation, int] = {}
        self.clusters: dict[Block, tuple[int, ...]] = {}
        self.token_types: set[Attribute] = set()
        """The types of what completes; asked about, never listed."""

    def build(self, function: Operation) -> WaitGraph:
        asynchronous = [view for op in function.walk() if (view := AsyncOpInterface.of(op)) is not None]
        self.token_types = {view.async_token.type for view in asynchronous if view.async_token is not None}
        for region in function.regions:
            for block in region.blocks:
                self._note_block(block, ())
        for op in list(self.starts):
            self._note_edges(op)
        for region in function.regions:
            for block in region.blocks:
                self._note_order(block, None)
        return self.graph

    # Nodes ----------------------------------------------------------------------------------------------------------

    def _add(self, kind: str, label: str, cluster: tuple[int, ...]) -> int:
        node = Node(len(self.graph.nodes), kind, label, cluster)
        self.graph.nodes.append(node)
        return node.number

    def _note_block(self, block: Block, cluster: tuple[int, ...]) -> None:
        self.clusters[block] = cluster
        for op in block.ops:
            inside = self._note_op(op, cluster)
            for region in op.regions:
                for inner in region.blocks:
                    self._note_block(inner, inside)
            if op in self.starts and AsyncRegionOpInterface.of(op) is not None:
                self._note_completions(op, inside)

    def _note_completions(self, op: Operation, cluster: tuple[int, ...]) -> None:
        view = AsyncOpInterface.of(op)
        assert view is not None
        for result in op.results:
            if result is not view.async_token and result.type in self.token_types:
                hint = f"%{result.name_hint}" if result.name_hint is not None else "a part"
                self.partial[result] = self._add(COMPLETES, f"{hint} of {op_name(op)} complete", cluster)
        self.completions[op] = self._add(COMPLETES, f"{_name(op)} complete", cluster)

    def _note_op(self, op: Operation, cluster: tuple[int, ...]) -> tuple[int, ...]:
        """Make the node of an asynchronous op; returns the cluster of what stands in it."""
        view = AsyncOpInterface.of(op)
        if view is None:
            return cluster
        number = self._add(ISSUES if view.async_token is not None else BLOCKS, _name(op), cluster)
        self.starts[op] = self.completions[op] = number
        return (*cluster, number) if AsyncRegionOpInterface.of(op) is not None else cluster

    # Tokens ---------------------------------------------------------------------------------------------------------

    def _note_edges(self, op: Operation) -> None:
        view, regional = AsyncOpInterface.of(op), AsyncRegionOpInterface.of(op)
        assert view is not None
        for dependency in view.async_dependencies:
            self._connect(dependency, self.starts[op])
        if regional is None:
            return
        self._note_completion(op, regional)

    def _note_completion(self, op: Operation, regional: AsyncRegionOpInterface) -> None:
        """What the parts of an op that complete early wait for, and what the whole waits for besides."""
        whole = self.completions[op]
        self._edge(self.starts[op], whole)
        awaited = [token for index in range(len(op.regions)) for token in regional.async_region_dependencies(index)]
        for partial in (result for result in op.results if result in self.partial):
            self._edge(self.starts[op], self.partial[partial])
            self._edge(self.partial[partial], whole)
            for token in regional.async_result_dependencies(partial):
                self._connect(token, self.partial[partial])
                awaited.remove(token)
        for token in awaited:
            self._connect(token, whole)

    def _connect(self, value: SSAValue, target: int) -> None:
        for origin, kind in self._origins(value):
            self._edge(origin, target, kind)

    def _edge(self, source: int, target: int, kind: str = TOKEN) -> None:
        if source != target:
            self.graph.edges[WaitEdge(source, target, kind)] = None
            self.incoming.setdefault(target, []).append(source)

    def _origins(self, value: SSAValue) -> list[tuple[int, str]]:
        """
        The nodes that `value` may complete with, each with the kind of the edge: `NEXT` if the path to it leads through
        another iteration, else `TOKEN`.
        """
        found: dict[tuple[int, str], None] = {}
        stack, seen = [(value, TOKEN)], {(value, TOKEN)}
        while stack:
            current, kind = stack.pop()
            passed_on = self._passed_on(current)
            if passed_on is None:
                found[self._node_of(current), kind] = None
                continue
            for source, source_kind in reversed(passed_on):
                further = (source, NEXT if NEXT in (kind, source_kind) else TOKEN)
                if further not in seen:
                    seen.add(further)
                    stack.append(further)
        return list(found)

    def _passed_on(self, value: SSAValue) -> list[tuple[SSAValue, str]] | None:
        """The values of which `value` is another name; None where it has a node of its own."""
        if isinstance(value, BlockArgument):
            return self._passed_in(value)
        owner = value.owner
        assert isinstance(owner, Operation)
        assert isinstance(value, OpResult)
        if owner in self.completions:
            return None
        loop = LoopLikeOpInterface.of(owner)
        if loop is not None:
            return [(loop.init_values[value.index], TOKEN), (loop.yielded_values[value.index], TOKEN)]
        exits = [region.last_block for region in owner.regions]
        ends = [block.last_op for block in exits if block is not None and block.last_op is not None]
        if ends and all(tuple(operand.type for operand in end.operands) == owner.result_types for end in ends):
            return [(end.operands[value.index], TOKEN) for end in ends]
        return None

    def _passed_in(self, argument: BlockArgument) -> list[tuple[SSAValue, str]] | None:
        parent = argument.block.parent_op()
        if parent is None or argument.block not in self.clusters:
            return None
        loop = LoopLikeOpInterface.of(parent)
        if loop is not None and argument in loop.carried_arguments:
            place = list(loop.carried_arguments).index(argument)
            return [(loop.init_values[place], TOKEN), (loop.yielded_values[place], NEXT)]
        branch = RegionBranchOpInterface.of(parent)
        region = argument.block.parent_region()
        entry = branch.entry_values(region) if branch is not None and region is not None else None
        return [(entry[argument.index], TOKEN)] if entry else None

    def _node_of(self, value: SSAValue) -> int:
        """The node of a value that is not handed on: of its op, of the region that it is the token of, or its own."""
        owner = value.owner
        if value in self.partial:
            return self.partial[value]
        if isinstance(owner, Operation):
            return self.completions[owner] if owner in self.completions else self._other(owner, value)
        parent = owner.parent_op()
        if parent is not None and parent in self.starts:
            return self.starts[parent]
        if value not in self.others:
            self.others[value] = self._add(ARGUMENT, f"%{value.name_hint or 'argument'}", self.clusters.get(owner, ()))
        return self.others[value]

    def _other(self, op: Operation, value: SSAValue) -> int:
        """The node of an op that only passes tokens on, or collects them."""
        if op not in self.others:
            block = op.parent_block()
            number = self._add(OTHER, _name(op), self.clusters.get(block, ()) if block is not None else ())
            self.others[op] = number
            tokens = [operand for operand in op.operands if self._is_token(operand)]
            for user in dict.fromkeys(use.operation for use in value.uses):
                if user not in self.starts:
                    tokens += [operand for operand in user.operands if operand is not value and self._is_token(operand)]
            for token in tokens:
                self._connect(token, number)
        return self.others[op]

    def _is_token(self, value: SSAValue) -> bool:
        owner = value.owner
        return value.type in self.token_types or (isinstance(owner, Operation) and owner in self.completions)

    # Orders ---------------------------------------------------------------------------------------------------------

    def _note_order(self, block: Block, start: int | None) -> int | None:
        """Dashed edges from the last wait in `block`, or from `start`, to what comes later; returns the last wait."""
        last = start
        for op in block.ops:
            if op in self.starts:
                self._order(last, self.starts[op])
            begin = self._start_of_body(op, last)
            for region in op.regions:
                for inner in region.blocks:
                    end = self._note_order(inner, begin)
                    if end != begin and op in self.starts and begin == self.starts[op]:
                        for completion in self._all_completions(op):
                            self._order(end, completion)
            if op in self.starts and self.graph.nodes[self.starts[op]].kind == BLOCKS:
                last = self.starts[op]
        return last

    def _all_completions(self, op: Operation) -> list[int]:
        return [*(self.partial[result] for result in op.results if result in self.partial), self.completions[op]]

    def _order(self, last: int | None, target: int) -> None:
        """A dashed edge, unless `target` waits for something that itself comes after `last`."""
        if last is None:
            return
        cluster = self.graph.nodes[target].cluster
        sources = [self.graph.nodes[source] for source in self.incoming.get(target, [])]
        made_here = [n for n in sources if n.kind in PROGRAM_ORDER and n.cluster[: len(cluster)] == cluster]
        if not any(node.number >= last for node in made_here):
            self._edge(last, target, ORDER)

    def _start_of_body(self, op: Operation, last: int | None) -> int | None:
        regional = AsyncRegionOpInterface.of(op)
        if regional is None or op not in self.starts:
            return last
        # A body that is issued at once comes after what came before the op, not after the op's dependencies.
        return last if regional.async_region_token(0) is not None else self.starts[op]


def _name(op: Operation) -> str:
    """`%t = async_region.copy`, or the op's name alone."""
    view = AsyncOpInterface.of(op)
    token = view.async_token if view is not None else next(iter(op.results), None)
    hint = token.name_hint if token is not None else None
    return f"%{hint} = {op_name(op)}" if hint is not None else op_name(op)
