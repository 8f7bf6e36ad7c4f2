"""
`async_queue`: asynchronous work that is waited for by counting (TVM RFC 0077, "Asynchronous stage in software
pipeline").

A *group* is the work that one thread commits at once. A *queue* is a FIFO of groups, named by a number: its groups
complete in the order of their commits. There are three structured scopes, each with one body that is part of the
thread's own control flow:

    scf.for %i = %c0 to %n step %c1 {
      async_queue.commit 0 {                       // what is issued in here becomes one group of queue 0
        async_queue.scope {                        // issued, not executed to completion; the thread goes on
          memref.copy %a, %slot : ...
        }
      }
      async_queue.wait 0, 1 {                      // all but the youngest group of queue 0 are complete
        ... uses what the previous iteration copied ...
      }
    }

There are no tokens and no results: the number of groups committed since is all the synchronisation there is. A
fourth op, `block`, marks one statement of a loop that is yet to be pipelined (see `async_queue_annotations`).

A queue id or a count that is constant is a property; one that is computed is an operand of type `index` in its place,
in the order queue, count. A body without a block and a body with an empty block both mean that there is nothing to
run: a *drain* is `async_queue.wait 0, 0`. Operations inside a `scope` are performed at any time between their issue
and the completion of their group, and different queues are not ordered with each other.

Only property constants are judged negative, not operands defined by constants: folding must not invalidate a module.

`tiled_load` and `tiled_store` of `nv_tileaa` may stand in an asynchronous scope. Other ops on tiles may not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Self

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, UnrankedMemRefType, i64
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    IsolatedFromAbove,
    MemoryEffect,
    MemoryEffectKind,
    NoTerminator,
    RecursiveMemoryEffect,
    get_effects,
)
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.interfaces import (
    AgentLikeOpInterface,
    AsyncCollectorOpInterface,
    AsyncRegionOpInterface,
    FunctionOpInterface,
)

INDEX = IndexType()


class QueueEffects(MemoryEffect):
    """
    The effects of the body, and a read and a write of all memory.

    Issuing, committing and waiting change when other code may touch the data. So no such op may be erased, merged with
    an equal one, or have a memory operation moved across it.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        body = RecursiveMemoryEffect.get_effects(op)
        if body is None:
            return None
        own = {EffectInstance(MemoryEffectKind.READ), EffectInstance(MemoryEffectKind.WRITE)}
        return body | own


class QueueScope(IRDLOperation):
    """Base of the four ops: one region that holds at most one block, without arguments, terminator or results."""

    body = region_def()

    def print_head(self, printer: Printer) -> None:
        """Print the part between the op's name and its attributes."""

    def head_properties(self) -> frozenset[str]:
        """The properties that `print_head` shows."""
        return frozenset()

    def print(self, printer: Printer) -> None:
        self.print_head(printer)
        shown = self.head_properties()
        entries = {name: value for name, value in self.properties.items() if name not in shown}
        entries |= self.attributes
        if entries:
            printer.print_string(" attributes ")
            printer.print_attr_dict(entries)
        if self.body.first_block is not None:
            printer.print_string(" ")
            printer.print_region(self.body, print_empty_block=False)

    @classmethod
    def parse_tail(cls, parser: Parser, **numbers: int | UnresolvedOperand) -> Self:
        """Parse `attributes {...}` and the body; the `numbers` parsed before become properties or operands."""
        written = parser.parse_optional_attr_dict_with_keyword(numbers)
        entries = dict(written.data) if written is not None else {}
        declared = cls.get_irdl_definition().properties
        properties = {name: value for name, value in entries.items() if name in declared}
        operands: list[SSAValue] = []
        for name, number in numbers.items():
            if isinstance(number, int):
                properties[name] = IntegerAttr(number, i64)
            else:
                operands.append(parser.resolve_operand(number, INDEX))
        body = parser.parse_optional_region()
        if body is not None and body.first_block is None:
            body.add_block(Block())
        return cls.create(
            operands=operands,
            properties=properties,
            attributes={name: value for name, value in entries.items() if name not in declared},
            regions=[_body(body)],
        )

    def verify_body(self) -> None:
        """Raises `VerifyException` when the body takes arguments. (`NoTerminator` forbids a second block.)"""
        block = self.body.first_block
        if block is not None and block.args:
            raise VerifyException("the block of the body takes no arguments")


def around(op: Operation) -> Iterator[Operation]:
    """
    The ops around `op`, innermost first, that the same thread of control runs.

    The walk passes structured control flow. It ends at a function, at an op that is isolated from above, and at an op
    whose region another thread runs (an agent, an asynchronous region).
    """
    node = op.parent_op()
    while node is not None:
        if FunctionOpInterface.of(node) is not None or node.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            return
        if isinstance(node, AgentLikeOpInterface | AsyncRegionOpInterface):
            return
        yield node
        node = node.parent_op()


def _verify_outside_scope(op: Operation, reason: str) -> None:
    """Raises `VerifyException` with `reason` when `op` stands inside an `async_queue.scope`."""
    if any(isinstance(node, ScopeOp) for node in around(op)):
        raise VerifyException(reason)


def _integer(value: int | SSAValue) -> IntegerAttr | None:
    return IntegerAttr(value, i64) if isinstance(value, int) else None


def _operands(*values: int | SSAValue) -> list[SSAValue]:
    return [value for value in values if not isinstance(value, int)]


def _body(body: Region | None) -> Region:
    return Region() if body is None else body


@irdl_op_definition
class ScopeOp(QueueScope):
    """
    Issue the body as one asynchronous operation and go on at once.

    `async_queue.scope { memref.store %v, %slot[%i] : memref<4xf32> }`

    Control flow, predicates and addresses in the body are evaluated now by the issuing thread; its data moves later,
    before the group of the innermost `commit` around it is complete. A scope stands inside a `commit`, or in the body
    of an op that fills a stage of a pipeline, which is then full once the scope is complete; it contains no scope,
    commit or wait.
    """

    name = "async_queue.scope"

    traits = traits_def(NoTerminator(), QueueEffects())

    def __init__(self, body: Region | None = None, attributes: Mapping[str, Attribute | None] | None = None) -> None:
        super().__init__(regions=[_body(body)], attributes=attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_tail(parser)

    def verify_(self) -> None:
        self.verify_body()
        enclosing = list(around(self))
        if any(isinstance(node, ScopeOp) for node in enclosing):
            raise VerifyException(
                "Nested async scopes not supported: issue both in one scope, or in two scopes side by side"
            )
        if not any(AsyncCollectorOpInterface.of(node) is not None for node in enclosing):
            raise VerifyException("stands outside any async_queue.commit, so no wait can ever cover it: wrap it in one")


class _QueueOp(QueueScope):
    """A scope that names a queue."""

    computed = var_operand_def(IndexType)
    """The operands: the queue id, then the count, each only where it is not a property."""

    constant_queue = opt_prop_def(IntegerAttr.constr(i64), prop_name="queue")

    @property
    def queue(self) -> int | SSAValue:
        """The queue id: a number, or the value that computes it."""
        if self.constant_queue is not None:
            return self.constant_queue.value.data
        return self.computed[0]

    def verify_queue(self, **constants: IntegerAttr | None) -> None:
        """Raises `VerifyException` unless each of `constants` is given as property or operand, and none is negative."""
        absent = [name for name, value in constants.items() if value is None]
        if len(self.computed) != len(absent):
            raise VerifyException(
                f"{' and '.join(constants)} stand either in properties or in index operands: the operands must be "
                f"({', '.join(absent)}), found {len(self.computed)}"
            )
        for name, value in constants.items():
            if value is not None and value.value.data < 0:
                raise VerifyException(f"{name} must not be negative, found {value.value.data}")


@irdl_op_definition
class CommitOp(_QueueOp, AsyncCollectorOpInterface):
    """
    Run the body; when the body is left, append what it issued to a queue as one group, which may be empty.

    `async_queue.commit 0 { async_queue.scope { ... } }`, with a computed queue `async_queue.commit %q { ... }`

    Commits nest: an operation belongs to the innermost one, and groups enter their queues in the order in which the
    scopes are left.
    """

    name = "async_queue.commit"

    traits = traits_def(NoTerminator(), QueueEffects())

    def __init__(
        self,
        queue: int | SSAValue,
        body: Region | None = None,
        attributes: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        super().__init__(
            operands=[_operands(queue)],
            properties={"queue": _integer(queue)},
            regions=[_body(body)],
            attributes=attributes,
        )

    def head_properties(self) -> frozenset[str]:
        return frozenset({"queue"})

    def print_head(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_number(printer, self.queue)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        queue = _parse_number(parser, "queue id")
        return cls.parse_tail(parser, queue=queue)

    def verify_(self) -> None:
        self.verify_body()
        self.verify_queue(queue=self.constant_queue)
        _verify_outside_scope(
            self, "stands inside an async_queue.scope, whose work cannot commit: move it out of the scope"
        )


@irdl_op_definition
class WaitOp(_QueueOp):
    """
    Block until at most `count` of the youngest groups committed to a queue are unfinished; then run the body.

    `async_queue.wait 0, 2 { ... }`, computed `async_queue.wait %q, %n { ... }`; a drain is `async_queue.wait 0, 0`

    With a count of at least the number of unfinished groups the op does not block. A group that is still being built by
    a commit around the wait is not counted.
    """

    name = "async_queue.wait"

    constant_count = opt_prop_def(IntegerAttr.constr(i64), prop_name="count")

    traits = traits_def(NoTerminator(), QueueEffects())

    def __init__(
        self,
        queue: int | SSAValue,
        count: int | SSAValue,
        body: Region | None = None,
        attributes: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        super().__init__(
            operands=[_operands(queue, count)],
            properties={"queue": _integer(queue), "count": _integer(count)},
            regions=[_body(body)],
            attributes=attributes,
        )

    @property
    def count(self) -> int | SSAValue:
        """How many groups may stay unfinished: a number, or the value that computes it."""
        if self.constant_count is not None:
            return self.constant_count.value.data
        return self.computed[-1]

    def head_properties(self) -> frozenset[str]:
        return frozenset({"queue", "count"})

    def print_head(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_number(printer, self.queue)
        printer.print_string(", ")
        _print_number(printer, self.count)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        queue = _parse_number(parser, "queue id")
        parser.parse_punctuation(",", " between queue id and count")
        count = _parse_number(parser, "count of groups")
        return cls.parse_tail(parser, queue=queue, count=count)

    def verify_(self) -> None:
        self.verify_body()
        self.verify_queue(queue=self.constant_queue, count=self.constant_count)
        _verify_outside_scope(
            self, "stands inside an async_queue.scope, whose work cannot wait: move it around the scope"
        )


@irdl_op_definition
class BlockOp(QueueScope):
    """
    One statement of a loop that is to be pipelined; it does what its body does.

    `async_queue.block { ... }`, or `async_queue.block attributes {double_buffer_scope = 0 : i64} { ... }`, where the
    first buffer that the body writes (number 0) gets at least two versions.
    """

    name = "async_queue.block"

    double_buffer_scope = opt_prop_def(IntegerAttr.constr(i64))

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    def __init__(
        self,
        body: Region | None = None,
        double_buffer_scope: int | None = None,
        attributes: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        scope = None if double_buffer_scope is None else IntegerAttr(double_buffer_scope, i64)
        super().__init__(
            regions=[_body(body)],
            properties={"double_buffer_scope": scope},
            attributes=attributes,
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.parse_tail(parser)

    def verify_(self) -> None:
        self.verify_body()
        if self.double_buffer_scope is None:
            return
        index = self.double_buffer_scope.value.data
        if index < 0:
            raise VerifyException(f"double_buffer_scope must not be negative, found {index}")
        if index >= (candidates := len(possibly_written_buffers(self.body))):
            raise VerifyException(
                f"double_buffer_scope = {index}: Index of the buffer exceeds the size of the write regions of the "
                f"block, which writes at most {candidates} buffers"
            )


def possibly_written_buffers(region: Region) -> list[SSAValue]:
    """
    Every memref that some op in `region` may write, in order of first occurrence; may contain buffers that are not
    written.
    """
    buffers: dict[SSAValue, None] = {}
    for op in region.walk():
        if op.has_trait(RecursiveMemoryEffect, value_if_unregistered=False) or isinstance(op, QueueScope):
            continue
        effects = get_effects(op)
        if effects is not None and all(effect.kind != MemoryEffectKind.WRITE for effect in effects):
            continue
        memrefs = (v for v in op.operands if isinstance(v.type, MemRefType | UnrankedMemRefType))
        buffers |= dict.fromkeys(memrefs)
    return list(buffers)


# Numbers in the custom form ------------------------------------------------------------------------------------------


def _print_number(printer: Printer, value: int | SSAValue) -> None:
    if isinstance(value, int):
        printer.print_string(str(value))
    else:
        printer.print_ssa_value(value)


def _parse_number(parser: Parser, what: str) -> int | UnresolvedOperand:
    """A number or an SSA value. Raises `ParseError` naming `what`."""
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return number
    return parser.expect(
        parser.parse_optional_unresolved_operand,
        f"expected a {what}: an integer or a value of type index",
    )


AsyncQueue = Dialect("async_queue", [ScopeOp, CommitOp, WaitOp, BlockOp], [])
