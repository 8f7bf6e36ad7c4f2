"""
Each agent of a group gets a region of its own.

    agent_switch {num_agents_per_group = [1, 2]} {     agent_switch {num_agents_per_group = [1, 1, 1]} {
      ...                                                ...
    }, {                                       ->      }, {
    ^bb0(%number: index):                                %number = constant 0
      use %number                                        use %number
    }                                                  }, {
                                                         %number = constant 1
                                                         use %number
                                                       }

Warps branch to their region once, so what depends on the agent is known in it: its warps, its barrier, its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i8, i32
from xdsl.ir import Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tileas_xdsl.diagnostics import refuse
from tileas_xdsl.dialects.nv_tileas.agents import AgentSwitchOp
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp
from tileas_xdsl.dialects.nv_tileas.verification import integers_of

CONSUMER = "consumer_idx"
"""The attribute that says which agent of its group takes a stage."""
BY_AGENT = ("warp_id", "agent_strides")
"""What has an entry an agent."""


@dataclass(frozen=True)
class SplitAgentGroupsPass(ModulePass):
    """
    Give each agent of a group a region of its own.

    Rewrites
        `nv_tileas.async.pipeline.agent_switch` with a group of several agents: the region of the group is there once
        for each of them, and the number of the agent in its group, where the region takes it, is a constant. `max_regs`
        and `num_warps` follow, and so do the numbers of groups that pipelines name.

    Requires
        Verified IR.

    Refuses
        A switch that says of some agents only where their warps begin.

    Choices
        The code of a group is there several times. A number that is the same for all threads of a warp would do as
        well, but layouts, barriers and registers belong to agents, and a constant lets each fold what is its own.
    """

    name = "tileas-split-agent-groups"

    DESCRIPTION: ClassVar[str] = "Give each agent of a group a region of its own"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        switches = [inner for inner in op.walk() if isinstance(inner, AgentSwitchOp)]
        groups = [switch for switch in switches if any(size > 1 for size in switch.group_sizes)]
        for switch in groups:
            _refuse_half_told(switch)
        for switch in reversed(groups):
            _number_groups(switch)
            _split(switch)


def _refuse_half_told(switch: AgentSwitchOp) -> None:
    agents = sum(switch.group_sizes)
    for name in BY_AGENT:
        said = integers_of(switch.properties.get(name))
        if said is not None and len(said) != agents:
            words = f"has {agents} agents, and {name} for {len(said)}"
            refuse(switch, words, f"leave {name} to optimize-execution-unit-mapping")


def _number_groups(switch: AgentSwitchOp) -> None:
    """Pipelines that its agents share name the first region of what was a group."""
    first = dict(enumerate(accumulate(switch.group_sizes, initial=0)))
    for ring in _rings_of(switch):
        producers, consumers = (first.get(n, n) for n in (ring.producer_group_number, ring.consumer_group_number))
        ring.producer_group = IntegerAttr(producers, i8, truncate_bits=True)
        ring.consumer_group = IntegerAttr(consumers, i8, truncate_bits=True)


def _rings_of(switch: AgentSwitchOp) -> Sequence[CreatePipelineOp]:
    """The pipelines whose ends the op takes, or its agents use, and that are made where it stands."""
    used = [*switch.operands, *(operand for region in switch.bodies for op in region.walk() for operand in op.operands)]
    rings = dict.fromkeys(value.owner for value in used if isinstance(value.owner, CreatePipelineOp))
    return [ring for ring in rings if _around(ring) is _around(switch)]


def _around(op: Operation) -> Operation | None:
    """The switch one of whose agents runs `op`."""
    around = op.parent_op()
    while around is not None and not isinstance(around, AgentSwitchOp):
        around = around.parent_op()
    return around


def _split(switch: AgentSwitchOp) -> None:
    sizes, handed = switch.group_sizes, len(switch.arguments) if switch.is_isolated else 0
    regions: list[Region] = []
    for region, size in zip(list(switch.bodies), sizes, strict=True):
        copies = [region.clone() for _ in range(size)] if size > 1 else [switch.detach_region(region)]
        for number, copy in enumerate(copies if size > 1 else ()):
            _settle(copy, number, takes_number=len(copy.block.args) > handed)
        regions += copies
    made = AgentSwitchOp(switch.arguments, regions, [1] * len(regions), attributes=switch.attributes)
    made.properties = {**switch.properties, **_told_by_agent(switch), **_each_alone(len(regions))}
    made.location = switch.location
    Rewriter.replace_op(switch, made)


def _each_alone(agents: int) -> dict[str, DenseArrayBase]:
    return {"num_agents_per_group": DenseArrayBase.from_list(i32, [1] * agents)}


def _told_by_agent(switch: AgentSwitchOp) -> dict[str, DenseArrayBase]:
    """What has an entry a region, with an entry an agent."""
    told: dict[str, DenseArrayBase] = {}
    if switch.num_warps is not None:
        groups = zip(switch.warps_per_group(), switch.group_sizes, strict=True)
        warps = [count for counts, size in groups for count in (counts * size if len(counts) == 1 else counts)]
        told["num_warps"] = DenseArrayBase.from_list(i32, warps)
    if switch.max_regs is not None:
        counted = zip(switch.max_regs.get_values(), switch.group_sizes, strict=True)
        told["max_regs"] = DenseArrayBase.from_list(i32, [int(count) for count, size in counted for _ in range(size)])
    return told


def _settle(region: Region, number: int, *, takes_number: bool) -> None:
    """`region` is that of the agent with this number: nobody else is in its group."""
    block = region.block
    if takes_number:
        constant = arith.ConstantOp(IntegerAttr.from_index_int_value(number))
        constant.result.name_hint = block.args[0].name_hint
        Rewriter.insert_op(constant, InsertPoint.at_start(block))
        block.args[0].replace_all_uses_with(constant.result)
        block.erase_arg(block.args[0])
    for op in _own_ops(region):
        if CONSUMER in op.attributes:
            op.attributes[CONSUMER] = IntegerAttr(0, i32)


def _own_ops(region: Region) -> Sequence[Operation]:
    """The ops that the agent of `region` runs, and no agent that it forks."""
    found: list[Operation] = []
    waiting = list(region.block.ops)
    while waiting:
        op = waiting.pop()
        found.append(op)
        if not isinstance(op, AgentSwitchOp):
            waiting += [inner for nested in op.regions for block in nested.blocks for inner in block.ops]
    return found
