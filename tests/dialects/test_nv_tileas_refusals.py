"""Every verifier of nv_tileas refuses what it must, in the words it must use."""

from __future__ import annotations

import re

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects.nv_tileas_refusals import SHORT, VERBATIM, Refusal
from tests.dialects.nv_tileas_samples import expand, program
from tests.dialects.nv_tileas_worded_refusals import WORDED
from tests.support.ir import parse


def refused(arguments: str, body: str) -> str:
    """The message with which the program is refused."""
    for short, long in SHORT.items():
        body = body.replace(short, long)
    with pytest.raises(VerifyException) as refusal:
        parse(program(arguments, body))
    return str(refusal.value)


@pytest.mark.parametrize("name", VERBATIM)
def test_verbatim_text(name: str) -> None:
    arguments, body, text = VERBATIM[name]
    message = refused(arguments, body)
    assert re.fullmatch(rf"'nv_tileas\.[a-z_.]+' op {re.escape(expand(text))}", message), message


@pytest.mark.parametrize("name", WORDED)
def test_worded_text(name: str) -> None:
    arguments, body, text = WORDED[name]
    assert expand(text) in refused(arguments, body)


def test_message_names_the_op_as_mlir_does() -> None:
    arguments, body, _ = VERBATIM["regions: consume_one prints its consumer types"]
    assert refused(arguments, body).startswith(
        "'nv_tileas.async.pipeline.consume_one' op expects region arguement types to match with producer types ["
    )


def test_successors_are_refused() -> None:
    text = """
    "builtin.module"() ({
    ^bb0(%v: !nv_tileas.tiled_view<8xf16>, %i: index):
      %a = "nv_tileas.tiled_load"(%v, %i)[^bb0] <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>}>
        : (!nv_tileas.tiled_view<8xf16>, index) -> tensor<8xf16>
    }) : () -> ()
    """
    with pytest.raises(VerifyException, match="requires 0 successors but found 1"):
        parse(text)


KERNEL = """
func.func @f() attributes {{nv_tileaa.kernel_spec = #nv_tileaa.kernel_spec<numWarps={budget}>}} {{
  nv_tileas.async.pipeline.agent_switch attributes {{num_agents_per_group = array<i32: 1, 2>,
    num_warps = array<i32: {warps}>}} {{
  ^bb0:
  }}, {{
  ^bb0:
  }} : () -> ()
  func.return
}}
"""


@pytest.mark.parametrize(("budget", "warps"), [(9, "1, 4"), (9, "1, 4, 4"), (1, "1, -1"), (8, "-1, 4, -1")])
def test_agents_within_the_kernel_spec_are_accepted(budget: int, warps: str) -> None:
    parse(KERNEL.format(budget=budget, warps=warps))


@pytest.mark.parametrize(("budget", "warps"), [(8, "1, 4"), (8, "1, 4, 4"), (7, "-1, 4, -1")])
def test_agents_beyond_the_kernel_spec_are_refused(budget: int, warps: str) -> None:
    with pytest.raises(VerifyException, match="agent warp count exceeds module budget"):
        parse(KERNEL.format(budget=budget, warps=warps))


FUNCTIONS: dict[str, Refusal] = {
    "entry arguments": (
        '"nv_tileas.func"() <{sym_name = "f", function_type = (i32) -> ()}>',
        "^bb0(%x: f32):\n nv_tileas.return : () -> ()",
        "expects entry block arguments [i32], but got [f32]",
    ),
    "returned values": (
        '"nv_tileas.func"() <{sym_name = "f", function_type = () -> i32}>',
        "nv_tileas.return : () -> ()",
        "expects values of the function's result types [i32], but got []",
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_refused(name: str) -> None:
    head, body, text = FUNCTIONS[name]
    with pytest.raises(VerifyException, match=re.escape(text)):
        parse(f"{head} ({{\n{body}\n}}) : () -> ()")


def test_ops_inside_a_malformed_parent_are_no_reason_to_crash() -> None:
    """Ops are verified before the op around them, so what they ask of it may be anything."""
    switch = """
    func.func @f(%t: !nv_tileas.token) {{
      nv_tileas.async.pipeline.agent_switch attributes {{{sizes}}} {{
        %u = nv_tileas.async.pipeline.consumer_wait %t : (!nv_tileas.token) -> !nv_tileas.token
      }} : () -> ()
      func.return
    }}"""
    for sizes in ('num_agents_per_group = "two"', "num_agents_per_group = array<i64: 1>", "isolated = true"):
        with pytest.raises(VerifyException, match="num_agents_per_group"):
            parse(switch.format(sizes=sizes))
    function = '"nv_tileas.func"() <{sym_name = "f", function_type = i32}> ({ nv_tileas.return : () -> () }) : () -> ()'
    with pytest.raises(VerifyException, match="function_type"):
        parse(function)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("#nv_tileas.layout<smem, swizzled>", "'swizzled' is none of the layouts"),
        ("#nv_tileas.layout<>", "memory space of a layout"),
        ("#nv_tileas.atom_plan<smem = 1>", "tag"),
        ("#nv_tileas.atom_plan<tag = 1, smem = 1 : i32, smem = 2 : i32>", "'smem' stands twice in this atom plan"),
        ("#nv_tileas.atom_plan<tag = 1, tmem = 1 : i32>", "in an atom plan"),
        ("#nv_tileas<atom >", "name of an atom"),
        ("#nv_tileas<mem_scope warp>", "Expected `tl_blk`, `cluster`, `gpu`, or `sys`"),
        ("#nv_tileas<swizzle_mode 16>", "128B"),
        ("#cute<atom TiledCopy>", "text of a cute atom"),
    ],
)
def test_malformed_attribute_is_a_parse_error(text: str, complaint: str) -> None:
    with pytest.raises(ParseError, match=re.escape(complaint)):
        parse(f'"builtin.module"() ({{}}) {{x = {text}}} : () -> ()')


@pytest.mark.parametrize(
    "text",
    [
        "!nv_tileas.tiled_view<8xf16, disk>",
        "!nv_tileas.tiled_view<8>",
        "!nv_tileas.pipeline_iter<>",
        "!nv_tileas.pipeline_iter<i32, 3>",
    ],
)
def test_malformed_type_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseError):
        parse(f"func.func private @f({text}) -> ()")


def test_the_tables_hold_at_least_two_hundred_refusals() -> None:
    assert len(VERBATIM) + len(WORDED) >= 200
