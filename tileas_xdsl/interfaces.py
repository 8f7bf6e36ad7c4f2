"""
Op interfaces: what passes ask of an op, in place of its name.

An op of ours implements an interface by inheriting it. An op of xDSL, which cannot inherit from us, gets an *external
model*: a small class, registered by op class in `dialects/upstream_models`, that answers in its place.
`Interface.of(op)` returns whichever there is. Only methods that some pass calls are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute

from tileas_xdsl.names import load_upstream_models

ModelT = TypeVar("ModelT", bound="type[Any]")


class Interface(ABC):
    """Base of the interfaces: finds the op itself, or the external model of a foreign op."""

    EXTERNAL_MODELS: ClassVar[dict[tuple[type[Any], type[Operation]], Callable[[Operation], Any] | None]]
    """Interface and op class -> what answers for such an op. Those of a dialect come when its first op is asked."""

    @classmethod
    def of(cls, op: Operation | None) -> Self | None:
        """The view of `op` through this interface, or None when `op` does not have it."""
        if isinstance(op, cls):
            return op
        if op is None:
            return None
        key = cls, type(op)
        if key not in Interface.EXTERNAL_MODELS:
            load_upstream_models(op.dialect_name())
        model = Interface.EXTERNAL_MODELS.setdefault(key, None)
        return None if model is None else model(op)

    @classmethod
    def model_for(cls, *ops: type[Operation]) -> Callable[[ModelT], ModelT]:
        """Class decorator: the decorated class, called with an op of one of the classes `ops`, answers for it."""

        def register(model: ModelT) -> ModelT:
            for op in ops:
                Interface.EXTERNAL_MODELS[cls, op] = model
            return model

        return register


Interface.EXTERNAL_MODELS = {}


class HandleType(TypeAttribute, ABC):
    """
    A type whose values are waited for, or held, rather than computed with: tokens, groups, queues, barriers.

    A type of ours inherits this; one of xDSL is named (`HandleType.holds_for`) beside the meanings of its dialect.
    The machine never leaves a handle unknown, since a wait for an unknown handle has no defined end.
    """

    ORDERS_NOTHING: ClassVar[bool] = False
    """Whether nobody waits for a value of the type, so that one is as good as another."""
    OF_OTHERS: ClassVar[set[type[Attribute]]] = set()
    """The types of xDSL that are handles."""

    @staticmethod
    def holds_for(kind: type[Attribute]) -> None:
        """
        Let `kind`, a type of xDSL, be a handle. Python's `abc` could register it, but a command that starts asks
        `type` for instances (`tools.start.instances`).
        """
        HandleType.OF_OTHERS.add(kind)


class AsyncOpInterface(Interface):
    """
    An operation that may complete after its issue, and that waits for others before it is performed.

    The interface of the same name in the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level";
    upstream MLIR has it for `gpu` only.
    """

    @property
    @abstractmethod
    def async_dependencies(self) -> Sequence[SSAValue]:
        """
        The tokens, and promises, which complete like tokens, that must be complete before the operation is performed.
        """

    @property
    @abstractmethod
    def async_token(self) -> SSAValue | None:
        """The token that completes with the operation, or None when the operation blocks."""

    @abstractmethod
    def add_async_dependency(self, token: SSAValue) -> None:
        """Make the operation wait for `token` as well."""

    def remove_async_dependency(self, token: SSAValue) -> bool:
        """Remove `token` once from the dependencies; False, without a change, where that is not possible."""
        return False

    @property
    def only_waits(self) -> bool:
        """Whether waiting, and handing out payloads, is all that the operation does."""
        return False


class AsyncRegionOpInterface(Interface):
    """
    An operation with regions that control enters and leaves through tokens.

    The interface of the same name in the MLIR RFC "New dialect for modelling asynchronous execution at a higher-level",
    with the RFC's two assumptions: all edges into region `index` are joined in one region token, and which tokens the
    region forwards does not depend on the branch that it takes.
    """

    @abstractmethod
    def async_region_token(self, index: int) -> BlockArgument | None:
        """The token argument of region `index`, or None when it only starts once its dependencies are complete."""

    @abstractmethod
    def async_region_dependencies(self, index: int) -> Sequence[SSAValue]:
        """The tokens inside region `index` that must complete before the operation itself is complete."""

    def async_result_dependencies(self, token: SSAValue) -> Sequence[SSAValue]:
        """
        The tokens inside that must complete before the result `token`: fewer than all, if it completes before the rest.
        """
        return self.async_region_dependencies(0)

    def remove_async_result_dependency(self, result: SSAValue, token: SSAValue) -> bool:
        """
        Remove `token` once from the tokens inside that `result` waits for; False, without a change, where that is not
        possible.
        """
        return False

    def async_region_arguments(self, index: int) -> Sequence[tuple[SSAValue, BlockArgument]]:
        """
        The values passed into region `index`: pairs of an operand and the argument it becomes; of a promise, its
        payload.
        """
        return ()

    def task_like_this(
        self,
        dependencies: Sequence[SSAValue],
        promises: Sequence[SSAValue],
        body: Block,
        values: Sequence[tuple[SSAValue, Attribute]],
        tokens: Sequence[SSAValue],
    ) -> Operation | None:
        """
        A new operation of the same kind that completes as a whole: its token is its first result.

        It waits for `dependencies`, and unwraps `promises`, whose payloads are the arguments of `body`, a block without
        a terminator. It returns `values`, each with the type of its result, and waits for the `tokens` made inside.
        None where the kind cannot express that: its body is isolated from above, or it is no task.
        """
        return None


class AsyncCollectorOpInterface(Interface):
    """
    An operation that collects the asynchronous work issued in its region: when control leaves the region, the work
    becomes one group of a queue, or fills one stage of a pipeline.
    """


class LoopLikeOpInterface(Interface):
    """A loop whose body is one region and which may carry values from one iteration to the next."""

    @property
    @abstractmethod
    def loop_body(self) -> Region:
        """The region that an iteration runs."""

    @property
    @abstractmethod
    def init_values(self) -> Sequence[SSAValue]:
        """The values that the first iteration starts from."""

    @property
    @abstractmethod
    def carried_arguments(self) -> Sequence[BlockArgument]:
        """The block arguments that hold the carried values, in the order of `init_values`."""

    @property
    @abstractmethod
    def yielded_values(self) -> Sequence[SSAValue]:
        """The values handed to the next iteration, in the same order."""


class AgentLikeOpInterface(Interface):
    """
    An operation that forks agents: one region for each group of agents. It is done when all agents of all groups are.
    """

    @property
    @abstractmethod
    def agent_regions(self) -> Sequence[Region]:
        """One body for each agent group."""

    @property
    @abstractmethod
    def group_sizes(self) -> Sequence[int]:
        """How many agents run each region."""

    @property
    def hands_operands_in(self) -> bool:
        """Whether the last arguments of each region stand for the operands; else the regions use these themselves."""
        return True


class FunctionOpInterface(Interface):
    """A named function with a body, of any dialect."""

    @property
    @abstractmethod
    def function_name(self) -> str:
        """The symbol, without the `@`."""

    @property
    @abstractmethod
    def function_body(self) -> Region:
        """The body; without blocks when this is only a declaration."""

    @property
    def is_entry(self) -> bool:
        """Whether a grid may end with it: not so for a device function, where its dialect tells the two apart."""
        return True

    @property
    def meets_at_end(self) -> bool:
        """Whether its compiler lets the blocks of a cluster meet before they end."""
        return False


class GroupTokenOpInterface(Interface):
    """An operation that closes a group of copies and gives a token for it. All such groups are in one queue."""

    @property
    @abstractmethod
    def group_token(self) -> SSAValue:
        """The token of the group."""


class CallOpInterface(Interface):
    """A call of a function that runs in its place."""

    @property
    @abstractmethod
    def callee_name(self) -> str:
        """The symbol, without the `@`; nothing where the callee is a value."""


class DiffersBetweenThreads(Interface):
    """
    An operation whose results differ between the threads of a block, whatever its operands: their number or mask, which
    of them is elected, the time read off a clock.
    """


class AllocationOpInterface(Interface):
    """An operation that makes storage: the walk back from a view to its storage ends here."""

    @property
    @abstractmethod
    def allocated_values(self) -> Sequence[SSAValue]:
        """The results that name the storage."""


@dataclass(frozen=True)
class EffectResource:
    """
    Something other than memory on which ops keep their order: one side of a pipeline, for example.

    Resources are equal when their names and owners are. The owner is the op that makes the resource, or anything else
    that distinguishes it from others of the same name. Diagnostics show the name only.
    """

    name: str
    owner: Hashable = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Effect:
    """
    One read or write, as an op states it.

    `target` is the memory, or a resource; None means any memory. `indices` are the subscripts, None for the whole
    target. `extents` gives the number of elements touched from there on each axis, one where absent.
    """

    writes: bool
    target: SSAValue | EffectResource | None
    indices: Sequence[SSAValue] | None = None
    extents: Sequence[int] | None = None


@dataclass(frozen=True)
class SideOrder:
    """
    The op keeps its order among the ops on one side of a pipeline, and touches no memory that other values name.

    `pipeline` is a token of the pipeline, or an op on it; an analysis finds the pipeline itself. Ops that only take
    stages (an acquire, a wait) keep their order among all that take, ops that only give stages up (a commit, a release)
    among all that give: the two need not alternate.
    """

    side: str
    pipeline: SSAValue | Operation
    steps: Sequence[str] = ("take", "give")
    """What the op does of the two."""


@dataclass(frozen=True)
class TokenWait:
    """
    The op waits for `token`: what completes with it, memory or a stage of a pipeline, may be touched from then on.
    """

    token: SSAValue


class MemoryAccessOpInterface(Interface):
    """
    An operation that states its memory effects more exactly than memory effect traits can.

    The statement replaces its traits. It covers the operation alone; ops in its regions are asked themselves.
    """

    @property
    @abstractmethod
    def memory_accesses(self) -> Sequence[Effect | SideOrder | TokenWait]:
        """The reads, writes, orders and waits of the operation, in program order."""


class RegionBranchOpInterface(Interface):
    """An operation whose regions exchange values with their surroundings; used by dataflow analyses."""

    @abstractmethod
    def entry_values(self, region: Region) -> Sequence[SSAValue] | None:
        """
        The values that the arguments of `region` have on first entry, or None when the operation makes them itself.
        """


def enclosing_function(op: Operation) -> Operation | None:
    """The innermost function around `op`, or `op` itself when it is one."""
    node: Operation | None = op
    while node is not None and FunctionOpInterface.of(node) is None:
        node = node.parent_op()
    return node


def functions_in(module: Operation) -> list[Operation]:
    """Every function in `module`, in program order."""
    return [op for op in module.walk() if FunctionOpInterface.of(op) is not None]


def end_of(block: Block) -> Operation:
    """The terminator of `block`, which has one."""
    last = block.last_op
    assert last is not None
    return last
