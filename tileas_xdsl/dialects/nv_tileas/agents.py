"""
Agents: threads of control that share a pipeline.

    nv_tileas.async.pipeline.agent_switch %p, %c attributes {num_agents_per_group = array<i32: 1, 2>} {
      ...                              one producer agent
    }, {
    ^bb0(%number: index):              two consumer agents, 0 and 1
      ...
    } : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()

The switch forks all agents of all groups and is done when all of them are.

`consumer_idx` is judged against the group of agents around the op. The warp budget is `numWarps` of the nearest kernel
spec, else 32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IndexType, IntegerAttr, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def, var_operand_def, var_region_def
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from tileas_xdsl.dialects.nv_tileaa.attributes import KernelSpecAttr
from tileas_xdsl.dialects.nv_tileas.verification import BOOL, I32, I32_ARRAY, integers_of, type_list, types_of
from tileas_xdsl.dialects.tiles.syntax import TileOp
from tileas_xdsl.dialects.tiles.traits import Synchronizes
from tileas_xdsl.interfaces import AgentLikeOpInterface

INHERIT = -1
"""In `max_regs` and `num_warps`: the number of the op around."""

MODULE_WARP_BUDGET = 32
"""The number of warps in the largest thread block, used where no kernel spec gives a number."""


@irdl_op_definition
class AgentSwitchOp(TileOp, AgentLikeOpInterface):
    """
    Fork one agent per region and number in its group; done when all of them are.

    `nv_tileas.async.pipeline.agent_switch %p, %c attributes {num_agents_per_group = array<i32: 1, 2>} {...}, {...}
    : (!nv_tileas.producer_token, !nv_tileas.consumer_token) -> ()`

    When `isolated`, the block arguments of each region stand for the operands. A region whose group has more than one
    agent may take a leading `index` argument: the agent's number in its group. `num_warps` has an entry a region or an
    entry an agent; `max_regs` an entry a region; `-1` inherits.
    """

    name = "nv_tileas.async.pipeline.agent_switch"

    arguments = var_operand_def()
    bodies = var_region_def()
    num_agents_per_group = prop_def(I32_ARRAY | I32)
    max_regs = opt_prop_def(I32_ARRAY)
    isolated = opt_prop_def(BOOL)
    num_warps = opt_prop_def(I32_ARRAY)
    warp_id = opt_prop_def(I32_ARRAY)
    agent_strides = opt_prop_def(I32_ARRAY)

    traits = traits_def(NoTerminator(), Synchronizes())

    def __init__(
        self,
        arguments: Sequence[SSAValue],
        bodies: Sequence[Region],
        agents_per_group: Sequence[int],
        *,
        max_regs: Sequence[int] | None = None,
        num_warps: Sequence[int] | None = None,
        isolated: bool | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        properties: dict[str, Attribute | None] = {
            "num_agents_per_group": DenseArrayBase.from_list(i32, list(agents_per_group)),
            "max_regs": None if max_regs is None else DenseArrayBase.from_list(i32, list(max_regs)),
            "num_warps": None if num_warps is None else DenseArrayBase.from_list(i32, list(num_warps)),
            "isolated": None if isolated is None else BoolAttr.from_bool(isolated),
        }
        super().__init__(
            operands=[arguments], regions=[bodies], properties=properties, attributes=dict(attributes or {})
        )

    @property
    def agent_regions(self) -> Sequence[Region]:
        return self.bodies

    @property
    def group_sizes(self) -> Sequence[int]:
        # Ops inside are verified before the switch, so the property may not have been checked yet.
        sizes = self.properties.get("num_agents_per_group")
        if isinstance(sizes, IntegerAttr):
            return (sizes.value.data,) * len(self.regions)
        return integers_of(sizes) or ()

    @property
    def hands_operands_in(self) -> bool:
        return self.is_isolated

    @property
    def is_isolated(self) -> bool:
        """Whether the regions get the operands as block arguments."""
        return self.isolated is not None and bool(self.isolated.value.data)

    def verify_contract(self) -> None:
        self._verify_lengths()
        for region, agents in zip(self.bodies, self.group_sizes, strict=True):
            self._verify_arguments(region, agents)
        self._verify_warps()

    def _verify_lengths(self) -> None:
        sizes, regions = self.group_sizes, len(self.bodies)
        if not regions:
            raise VerifyException("expects at least one region")
        if len(sizes) != regions:
            raise VerifyException(f"expects one entry of num_agents_per_group for each region, but got {len(sizes)}")
        if any(size < 1 for size in sizes):
            raise VerifyException(f"expects at least one agent in each group, but got {min(sizes)}")
        if self.max_regs is not None and len(self.max_regs) != regions:
            raise VerifyException(f"expects one entry of max_regs for each region, but got {len(self.max_regs)}")
        if self.num_warps is not None and len(self.num_warps) not in (regions, sum(sizes)):
            raise VerifyException(
                f"expects one entry of num_warps for each region or agent, but got {len(self.num_warps)}"
            )

    def _verify_arguments(self, region: Region, agents: int) -> None:
        block = region.first_block
        if block is None:
            raise VerifyException("expects a block in each agent region")
        expected = types_of(self.arguments) if self.is_isolated else ()
        found = types_of(block.args)
        if agents > 1 and len(found) == len(expected) + 1 and isinstance(found[0], IndexType):
            found = found[1:]
        if found != expected:
            raise VerifyException(
                f"expects agent region arguments of types {type_list(expected)}, but got {type_list(found)}"
            )

    def _verify_warps(self) -> None:
        total = 0
        for warps, agents in zip(self.warps_per_group(), self.group_sizes, strict=True):
            resolved = sorted({count for count in warps if count != INHERIT})
            if len(resolved) > 1:
                raise VerifyException("agent regions disagree on warp count")
            total += resolved[0] * agents if resolved else 0
        if total > warp_budget(self):
            raise VerifyException("agent warp count exceeds module budget")

    def warps_per_group(self) -> list[tuple[int, ...]]:
        """For each region, the warp counts given for its agents; -1 means inherited."""
        sizes = self.group_sizes
        if self.num_warps is None:
            return [(INHERIT,)] * len(sizes)
        counts = integers_of(self.num_warps) or ()
        if len(counts) == len(sizes):
            return [(count,) for count in counts]
        starts = [sum(sizes[:index]) for index in range(len(sizes))]
        return [counts[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def warp_budget(op: Operation) -> int:
    """
    The number of warps of the launch around `op`: `numWarps` of the innermost kernel spec, else the hardware's limit.
    """
    node: Operation | None = op
    while node is not None:
        spec = node.attributes.get("nv_tileaa.kernel_spec")
        if isinstance(spec, KernelSpecAttr) and spec.num_warps is not None:
            return spec.num_warps
        node = node.parent_op()
    return MODULE_WARP_BUDGET
