"""
What makes a phase wait for more has to come before something without which the phase cannot complete.

Wrong programs and right twins of them. Each verdict is the same in whatever order the agents stand, and that of the
explorer, which visits every interleaving. A right one is decided by one execution: the rule itself sees that it is.
"""

from __future__ import annotations

import pytest

from tests.checker.explorer.explorer import explore
from tests.checker.explorer.snippets import agents, arrive, bulk, expect, init, lines, on_pointers, wait
from tests.support.exchanged_agents import exchanges
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Report, Verdict

LOAD, LOAD_1 = (f"%x{n} = llvm.load %l{n} : !llvm.ptr<3> -> i32".replace("l0", "l") for n in range(2))
COPY, COPY_1 = bulk(), bulk(target="%l1")
EXPECT_TX = "nvvm.mbarrier.expect_tx %bar, %n16 : !llvm.ptr<3>, i32"
COMPLETE_TX = "nvvm.mbarrier.complete_tx %bar, %n16 : !llvm.ptr<3>, i32"
CP = "nvvm.cp.async.shared.global %l, %g, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>"
ADDS = "nvvm.cp.async.mbarrier.arrive %bar : !llvm.ptr<3>"
COUNTED = "nvvm.cp.async.mbarrier.arrive %bar {noinc = true} : !llvm.ptr<3>"
RELAXED = "nvvm.mbarrier.arrive %bar {relaxed = true} : !llvm.ptr<3>"
ARRIVE, WAIT = arrive(), wait(0)
TELL, HEAR = arrive("%bar1"), wait(0, "%bar1")
"""A handshake at another barrier."""

WRONG = {
    "bytes expected by another agent than the one that arrives": (1, [[EXPECT_TX, COPY], [ARRIVE, WAIT, LOAD]]),
    "more bytes than the arrival expects": (1, [[expect(), COPY, WAIT, LOAD_1], [EXPECT_TX, COPY_1]]),
    "bytes expected after one of two arrivals": (2, [[ARRIVE, EXPECT_TX, COPY], [ARRIVE, WAIT, LOAD]]),
    "bytes expected after the handshake": (1, [[TELL, EXPECT_TX, COPY], [HEAR, ARRIVE, WAIT, LOAD]]),
    "bytes that another copy may bring in their place": (
        1,
        [[expect(), HEAR, COPY, WAIT, LOAD], [EXPECT_TX, TELL], [COPY_1]],
    ),
    "bytes that an agent reports itself": (1, [[EXPECT_TX, CP, ADDS, COMPLETE_TX], [ARRIVE, WAIT, LOAD]]),
    "an arrival added by another agent than the one that arrives": (1, [[CP, ADDS], [ARRIVE, WAIT, LOAD]]),
    "an arrival added after one of two arrivals": (2, [[ARRIVE, CP, ADDS], [ARRIVE, WAIT, LOAD]]),
    "an arrival added while bytes are awaited": (1, [[CP, ADDS], [expect(), COPY_1, WAIT, LOAD]]),
    "arrivals added by two agents, one of which arrives": (
        1,
        [[CP, ADDS, ARRIVE, WAIT, LOAD], [CP.replace("%l,", "%l1,"), ADDS]],
    ),
}
"""Init count of the barrier, and the agents."""
RIGHT = {
    "bytes expected before the own arrival": (1, [[EXPECT_TX, COPY, ARRIVE], [WAIT, LOAD]]),
    "bytes expected before the own arrival, in two parts": (
        1,
        [[EXPECT_TX, COPY, EXPECT_TX, ARRIVE, COPY_1], [WAIT, LOAD, LOAD_1]],
    ),
    "bytes expected before a relaxed arrival": (1, [[EXPECT_TX, COPY, RELAXED], [WAIT, LOAD]]),
    "bytes expected before the arrival that a handshake brings": (
        1,
        [[EXPECT_TX, TELL, COPY], [HEAR, ARRIVE, WAIT, LOAD]],
    ),
    "bytes expected before one of two arrivals": (2, [[EXPECT_TX, COPY, ARRIVE], [ARRIVE, WAIT, LOAD]]),
    "bytes expected before the copy that the arrival waits for": (
        1,
        [[expect(), HEAR, COPY, WAIT, LOAD, LOAD_1], [EXPECT_TX, TELL, COPY_1]],
    ),
    "bytes expected by two agents before that copy": (
        1,
        [
            [expect(), HEAR, COPY, WAIT, LOAD],
            [EXPECT_TX, TELL, COPY_1],
            [EXPECT_TX, TELL, bulk(target="%l2")],
        ],
    ),
    "an arrival added before the own one": (1, [[CP, ADDS, ARRIVE], [WAIT, LOAD]]),
    "an arrival added before the one that a handshake brings": (1, [[CP, ADDS, TELL], [HEAR, ARRIVE, WAIT, LOAD]]),
    "an arrival added before the copy that the arrival waits for": (
        1,
        [[CP, ADDS, TELL], [expect(), HEAR, COPY_1, WAIT, LOAD, LOAD_1]],
    ),
    "an arrival behind copies that the barrier is made for": (2, [[CP, COUNTED], [ARRIVE, WAIT, LOAD]]),
    "bytes expected before an arrival behind copies": (1, [[EXPECT_TX, COPY_1, CP, COUNTED], [WAIT, LOAD, LOAD_1]]),
}


def program(count: int, bodies: list[list[str]]) -> str:
    tellers = sum(body.count(TELL) for body in bodies)
    inits = init(count), init(max(tellers, 1), "%bar1"), "nvvm.fence.mbarrier.init"
    return on_pointers(lines(*inits, agents(*(lines(*body) for body in bodies))))


def reports(text: str) -> list[Report]:
    """Of the program as it is written, and with its agents exchanged."""
    found = [check(parse(text))]
    for exchange in exchanges(text):
        with exchange.on_machine():
            found.append(check(exchange.of(text)))
    return found


@pytest.mark.parametrize("name", WRONG)
def test_an_expectation_may_come_too_late(name: str) -> None:
    text = program(*WRONG[name])
    assert explore(parse(text)).shown
    first, *others = reports(text)
    assert first.verdict is Verdict.VIOLATION, str(first)
    assert all(finding.violation.witness is not None for finding in first.findings)
    assert [other.kinds for other in others] == [first.kinds] * len(others)


@pytest.mark.parametrize("name", RIGHT)
def test_an_expectation_in_time_is_right(name: str) -> None:
    text = program(*RIGHT[name])
    assert not explore(parse(text)).verdict
    for report in reports(text):
        assert report.verdict is Verdict.SAFE, str(report)
        assert report.executions == 1


RING = """
func.func @ring(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %bytes = arith.constant 16 : i32
  %ticks = arith.constant 1000 : i32
  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1, 1>}} {{
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {producer}
    }}
  }}, {{
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {helper}
    }}
  }}, {{
    scf.for %k = %c0 to %n step %c1 : i32 {{
      %bit = arith.andi %k, %c1 : i32
      nvvm.mbarrier.try_wait.parity %full, %bit, %ticks : !llvm.ptr<3>, i32, i32
      %v = llvm.load %l : !llvm.ptr<3> -> f32
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
      nvvm.mbarrier.arrive %empty : !llvm.ptr<3>
    }}
  }} : () -> ()
  func.return
}}
"""
IN_TURN = (
    "%bit = arith.andi %k, %c1 : i32",
    "%turn = arith.xori %bit, %c1 : i32",
    "nvvm.mbarrier.try_wait.parity %empty, %turn, %ticks : !llvm.ptr<3>, i32, i32",
)
"""A wait until the slot is free."""
FILL = "nvvm.cp.async.bulk.shared.cluster.global %l, %g, %full, %bytes : !llvm.ptr<3>, <1>"
AT_FULL = [each.replace("%bar", "%full").replace("%n16", "%bytes") for each in (EXPECT_TX, ARRIVE, CP, ADDS)]
EXPECT_FULL, ARRIVE_FULL, CP_FULL, ADD_FULL = AT_FULL


@pytest.mark.parametrize("fill", [[EXPECT_FULL, FILL, ARRIVE_FULL], [CP_FULL, ADD_FULL, ARRIVE_FULL]])
def test_rings_are_proved_for_every_trip_count(fill: list[str]) -> None:
    for report in reports(RING.format(producer=lines(*IN_TURN, *fill), helper="")):
        assert report.verdict is Verdict.SAFE
        assert report.holds_for_every_trip_count, str(report)


@pytest.mark.parametrize("fill", [[EXPECT_FULL, FILL], [CP_FULL, ADD_FULL]])
def test_rings_with_an_expectation_apart_are_wrong_from_the_first_turn_on(fill: list[str]) -> None:
    text = RING.format(producer=lines(*IN_TURN, *fill), helper=lines(*IN_TURN, ARRIVE_FULL))
    found = {}
    for trips in (0, 1):
        kinds = [check(parse(text), trip_counts=[trips]).kinds]
        for exchange in exchanges(text):
            with exchange.on_machine():
                kinds.append(check(exchange.of(text), trip_counts=[trips]).kinds)
        assert kinds == [kinds[0]] * len(kinds)
        found[trips] = kinds[0]
    assert found[0] == []
    assert found[1] != []


TTGIR = """
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!tile = !ttg.memdesc<512xf32, #shared, #smem, mutable>
!barrier = !ttg.memdesc<1xi64, #shared, #smem, mutable>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: tensor<512x!tt.ptr<f32>, #blocked>) {
    %tile = ttg.local_alloc : () -> !tile
    %bar = ttg.local_alloc : () -> !barrier
    ttng.init_barrier %bar, COUNT : !barrier
    ttg.warp_specialize(%tile, %bar)
    default {
      %t = ttg.async_copy_global_to_local %p, %tile : tensor<512x!tt.ptr<f32>, #blocked> -> !tile
      LOADER
      ttg.warp_yield
    }
    partition0(%t0: !tile, %b0: !barrier) num_warps(4) {
      %c0 = arith.constant 0 : i32
      READER
      ttng.wait_barrier %b0, %c0 : !barrier
      %v = ttg.local_load %t0 : !tile -> tensor<512xf32, #blocked>
      ttg.warp_return
    } : (!tile, !barrier) -> ()
    tt.return
  }
}
"""
ADDS_TTGIR, ARRIVES = "ttng.async_copy_mbarrier_arrive %bar : !barrier", "ttng.arrive_barrier %bar, 1 : !barrier"


@pytest.mark.parametrize(
    ("count", "loader", "reader", "verdict"),
    [
        (1, [ADDS_TTGIR], [ARRIVES.replace("bar,", "b0,")], Verdict.VIOLATION),
        (1, [ADDS_TTGIR, ARRIVES], [], Verdict.SAFE),
        (129, [ADDS_TTGIR.replace(" :", " {noIncrement} :")], [ARRIVES.replace("bar,", "b0,")], Verdict.SAFE),
    ],
)
def test_copies_of_triton_add_arrivals_as_well(
    count: int, loader: list[str], reader: list[str], verdict: Verdict
) -> None:
    text = TTGIR.replace("COUNT", str(count)).replace("LOADER", lines(*loader)).replace("READER", lines(*reader))
    for report in reports(text):
        assert report.verdict is verdict, str(report)
