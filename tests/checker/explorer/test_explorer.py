"""
The explorer on programs whose verdict is known: by construction, or because the page that defines the ops says it.

Marks are those of LLVM's "AMDGPU Asynchronous Operations", barriers those of the PTX ISA (`mbarrier`), queues those of
TVM RFC 0077.
"""

from __future__ import annotations

import pytest

from tests.checker.explorer.explorer import TooLargeError, explore, verdict
from tests.checker.explorer.snippets import (
    agents,
    arrive,
    bulk,
    constants,
    copy,
    expect,
    init,
    lines,
    on_memrefs,
    on_pointers,
    task,
    wait,
    wait_marks,
)
from tests.support.ir import parse

SAFE: set[str] = set()
RACE, DEADLOCK, UNDRAINED = {"race"}, {"deadlock"}, {"undrained"}


STORE_A0 = "memref.store %v, %a[%c0] : memref<4xi32>"
STORE_A1 = "memref.store %v, %a[%c1] : memref<4xi32>"
LOAD_A0 = "%x = memref.load %a[%c0] : memref<4xi32>"
MARK = "rocdl.asyncmark"
LOAD_L = "%x = llvm.load %l : !llvm.ptr<3> -> i32"
STORE_L = "llvm.store %v, %l : i32, !llvm.ptr<3>"
STORE_G = "llvm.store %v, %g : i32, !llvm.ptr<1>"
ARRIVE = arrive()


LOAD_L1 = "%x1 = llvm.load %l1 : !llvm.ptr<3> -> i32"
CALL_MARKS = "func.call @marks() : () -> ()"


def uneven_blocks(stride: int, used: int) -> str:
    """Blocks of 3, 5 and 2 transfers, to cells `stride` apart, of which `used` is read after a wait for the first."""
    transfers = [
        lines(
            f"%t{i} = llvm.getelementptr %l[{i * stride}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32",
            copy("%g", f"%t{i}"),
        )
        for i in range(10)
    ]
    use = f"%u = llvm.load %t{used} : !llvm.ptr<3> -> i32"
    return lines(*transfers[:3], MARK, *transfers[3:8], MARK, *transfers[8:], MARK, wait_marks(2), use)


TOKENS = {
    "a task that nobody awaits": (task("%t", STORE_A0), UNDRAINED),
    "an awaited task": (lines(task("%t", STORE_A0), "async.await %t : !async.token", LOAD_A0), SAFE),
    "main reads before it awaits": (lines(task("%t", STORE_A0), LOAD_A0, "async.await %t : !async.token"), RACE),
    "main reads another cell": (lines(task("%t", STORE_A1), LOAD_A0, "async.await %t : !async.token"), SAFE),
    "two tasks without order": (
        lines(
            task("%t", STORE_A0),
            task("%u", LOAD_A0),
            "async.await %t : !async.token",
            "async.await %u : !async.token",
        ),
        RACE,
    ),
    "two tasks that only read": (
        lines(
            task("%t", LOAD_A0),
            task("%u", LOAD_A0),
            "async.await %t : !async.token",
            "async.await %u : !async.token",
        ),
        SAFE,
    ),
    "a dependency orders tasks": (
        lines(task("%t", STORE_A0), task("%u", LOAD_A0, "%t"), "async.await %u : !async.token", STORE_A0),
        SAFE,
    ),
    "a task does not wait for the tasks inside it": (
        lines(
            task("%t", task("%u", STORE_A0)),
            "async.await %t : !async.token",
            LOAD_A0,
        ),
        RACE | UNDRAINED,
    ),
    "a task that awaits the one inside it": (
        lines(
            task("%t", lines(task("%u", STORE_A0), "async.await %u : !async.token")),
            "async.await %t : !async.token",
            LOAD_A0,
        ),
        SAFE,
    ),
    "a task awaits an elder in its body": (
        lines(
            task("%t", STORE_A0),
            task("%u", lines("async.await %t : !async.token", LOAD_A0)),
            "async.await %u : !async.token",
        ),
        SAFE,
    ),
    "a value is a dependency": (
        lines(
            "%t, %f = async.execute -> !async.value<i32> {",
            "%w = memref.load %a[%c0] : memref<4xi32>",
            "async.yield %w : i32 }",
            "%u = async.execute (%f as %w: !async.value<i32>) {",
            "memref.store %w, %a[%c0] : memref<4xi32>",
            "async.yield }",
            "async.await %u : !async.token",
        ),
        SAFE,
    ),
    "a whole group": (
        lines(
            "%s = async.create_group %c2 : !async.group",
            task("%t", STORE_A0),
            task("%u", STORE_A1),
            "%r0 = async.add_to_group %t, %s : !async.token",
            "%r1 = async.add_to_group %u, %s : !async.token",
            "async.await_all %s",
            LOAD_A0,
        ),
        SAFE,
    ),
    "a group with a member too few": (
        lines(
            "%s = async.create_group %c2 : !async.group",
            task("%t", STORE_A0),
            "%r0 = async.add_to_group %t, %s : !async.token",
            "async.await_all %s",
        ),
        DEADLOCK,
    ),
    "a task awaits a group that it is to join": (
        lines(
            "%s = async.create_group %c1 : !async.group",
            task("%t", "async.await_all %s"),
            "%r0 = async.add_to_group %t, %s : !async.token",
            "async.await_all %s",
        ),
        DEADLOCK,
    ),
    "a stuck task after the end": (
        lines("%s = async.create_group %c1 : !async.group", task("%t", "async.await_all %s")),
        DEADLOCK | UNDRAINED,
    ),
    "a token carried around a loop": (
        lines(
            task("%t", STORE_A0),
            "%last = scf.for %i = %c0 to %c3 step %c1 iter_args(%before = %t) -> (!async.token) {",
            "async.await %before : !async.token",
            LOAD_A0,
            task("%next", STORE_A0),
            "scf.yield %next : !async.token }",
            "async.await %last : !async.token",
        ),
        SAFE,
    ),
}

COMMIT_A0 = f"async_queue.commit 0 {{ async_queue.scope {{ {STORE_A0} }} }}"
COMMIT_A1 = f"async_queue.commit 0 {{ async_queue.scope {{ {STORE_A1} }} }}"
COMMIT_EMPTY = "async_queue.commit 0"
LOAD_AFTER = "async_queue.wait 0, {} {{ " + LOAD_A0 + " }}"

QUEUES = {
    "a drained queue": (lines(COMMIT_A0, LOAD_AFTER.format(0)), SAFE),
    "a queue that is not drained": (COMMIT_A0, UNDRAINED),
    "a wait that leaves one group": (lines(COMMIT_A0, LOAD_AFTER.format(1)), RACE | UNDRAINED),
    "the group that is left is another": (lines(COMMIT_A0, COMMIT_A1, LOAD_AFTER.format(1)), UNDRAINED),
    "an empty group counts": (lines(COMMIT_A0, COMMIT_EMPTY, LOAD_AFTER.format(1)), SAFE),
    "another queue does not count": (
        lines(COMMIT_A0, COMMIT_EMPTY.replace("0", "1"), LOAD_AFTER.format(1)),
        RACE | UNDRAINED,
    ),
    "two groups of one queue write one cell": (lines(COMMIT_A0, COMMIT_A0, "async_queue.wait 0, 0"), RACE),
    "a source written early": (
        lines(
            "async_queue.commit 0 { async_queue.scope { %w = memref.load %a[%c0] : memref<4xi32>",
            "memref.store %w, %b[%c0] : memref<4xi32> } }",
            STORE_A0,
            "async_queue.wait 0, 0",
        ),
        RACE,
    ),
    "a wait inside a commit does not cover it": (
        f"async_queue.commit 0 {{ async_queue.scope {{ {STORE_A0} }} async_queue.wait 0, 0 {{ {LOAD_A0} }} }}",
        RACE | UNDRAINED,
    ),
    "the inner of two nested commits is the elder": (
        lines(
            "async_queue.commit 0 {",
            f"async_queue.scope {{ {STORE_A1} }}",
            COMMIT_A0,
            "}",
            LOAD_AFTER.format(1),
            "async_queue.wait 0, 0",
        ),
        SAFE,
    ),
    "two agents commit to one queue": (
        lines(agents(lines(COMMIT_A0, LOAD_AFTER.format(1)), COMMIT_EMPTY), "async_queue.wait 0, 0"),
        RACE,
    ),
    "two agents with a queue each": (
        agents(
            lines(COMMIT_A0, LOAD_AFTER.format(0)),
            lines(COMMIT_A1, "async_queue.wait 0, 0").replace("commit 0", "commit 1").replace("wait 0", "wait 1"),
        ),
        SAFE,
    ),
    "agents race without any queue": (agents(STORE_A0, LOAD_A0), RACE),
    "a join orders agents": (lines(agents(STORE_A0), LOAD_A0), SAFE),
}

MARKS = {
    "a mark waited for": (lines(copy(), MARK, wait_marks(0), LOAD_L), SAFE),
    "a transfer without mark": (lines(copy(), wait_marks(0), LOAD_L), RACE | UNDRAINED),
    "a mark left outstanding": (lines(copy(), MARK, wait_marks(1), LOAD_L), RACE | UNDRAINED),
    "an empty mark counts": (lines(copy(), MARK, MARK, wait_marks(1), LOAD_L), SAFE),
    # LLVM, "AMDGPU Asynchronous Operations": a transfer is a read and a write, and happens before a later access to the
    # same bytes only if it is complete before that; an earlier access always happens before it.
    "the source is written early": (lines(copy(), STORE_G, MARK, wait_marks(0)), RACE),
    "the source is written in time": (lines(STORE_G, copy(), MARK, wait_marks(0)), SAFE),
    "two transfers to one destination": (lines(copy(), copy("%g1"), MARK, wait_marks(0)), RACE),
    "a mark between does not help": (lines(copy(), MARK, copy("%g1"), MARK, wait_marks(0)), RACE),
    "two transfers from one source": (lines(copy(), copy("%g", "%l1"), MARK, wait_marks(0)), SAFE),
    # The examples of that page; its software pipeline stands below.
    "uneven blocks as written, all to one place": (uneven_blocks(0, 0), RACE | UNDRAINED),
    "uneven blocks, first block used": (uneven_blocks(1, 2), UNDRAINED),
    "uneven blocks, second block used": (uneven_blocks(1, 3), RACE | UNDRAINED),
    "a call to a function without body": (
        lines(
            lines(copy(), MARK, copy("%g", "%l1"), MARK, "func.call @bar() : () -> ()"),
            lines(copy("%g", "%l2"), MARK, wait_marks(1), LOAD_L1, wait_marks(0), LOAD_L),
        ),
        SAFE,
    ),
    "a mark in the callee is not the caller's": (
        lines(copy(), MARK, copy("%g", "%l1"), MARK, CALL_MARKS, wait_marks(1), LOAD_L1, wait_marks(0)),
        RACE,
    ),
    "but covers what the caller issued": (
        lines(copy(), MARK, copy("%g", "%l1"), MARK, CALL_MARKS, wait_marks(1), LOAD_L, wait_marks(0)),
        SAFE,
    ),
    "inlined it only strengthens the wait": (
        lines(copy(), MARK, copy("%g", "%l1"), MARK, MARK, wait_marks(1), LOAD_L1, wait_marks(0)),
        SAFE,
    ),
    "a wait in the callee sees the callee's marks only": (
        (lines(copy(), MARK, "func.call @helper() : () -> ()", LOAD_L, wait_marks(0))),
        RACE,
    ),
    "a later mark covers the callee's transfers": (
        lines("func.call @copies(%g, %l) : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()", MARK, wait_marks(0), LOAD_L),
        SAFE,
    ),
}

HELPERS = f"""
func.func private @helper() {{ {wait_marks(0)} func.return }}
func.func private @marks() {{ {MARK} func.return }}
func.func private @copies(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) {{ {copy()} func.return }}
func.func private @bar()
"""

BARRIERS = {
    "a handshake": (lines(init(1), agents(lines(STORE_L, ARRIVE), lines(wait(0), LOAD_L))), SAFE),
    "arrival before the write": (lines(init(1), agents(lines(ARRIVE, STORE_L), lines(wait(0), LOAD_L))), RACE),
    "the fresh barrier lets parity 1 pass": (
        lines(init(1), agents(lines(STORE_L, ARRIVE), lines(wait(1), LOAD_L))),
        RACE | DEADLOCK,
    ),
    "an arrival too few": (lines(init(2), agents(lines(STORE_L, ARRIVE), lines(wait(0), LOAD_L))), DEADLOCK),
    "a phase that nobody completes": (lines(init(1), agents(ARRIVE, lines(wait(0), wait(1)))), DEADLOCK),
    "a phase that may be missed": (lines(init(1), agents(lines(ARRIVE, ARRIVE), wait(0))), DEADLOCK),
    "two agents meet": (
        lines(
            init(2),
            agents(
                lines(STORE_L, ARRIVE, wait(0), "%y = llvm.load %l1 : !llvm.ptr<3> -> i32"),
                lines("llvm.store %v, %l1 : i32, !llvm.ptr<3>", ARRIVE, wait(0), LOAD_L),
            ),
        ),
        SAFE,
    ),
    "who arrives for which phase is left open": (
        lines(init(1), agents(lines(STORE_L, ARRIVE), lines(ARRIVE), lines(wait(0), LOAD_L))),
        RACE | DEADLOCK,
    ),
    "each waits for the other": (
        lines(
            init(1),
            init(1, "%bar1"),
            agents(lines(wait(0), arrive("%bar1")), lines(wait(0, "%bar1"), arrive())),
        ),
        DEADLOCK,
    ),
    "a copy and its bytes": (lines(init(1), expect(), bulk(), wait(0), LOAD_L), SAFE),
    "the expectation after the copy": (lines(init(1), bulk(), expect(), wait(0), LOAD_L), SAFE),
    "a copy that nobody waits for": (lines(init(1), expect(), bulk()), UNDRAINED),
    "too many bytes are expected": (lines(init(1), expect(32), bulk(), wait(0), LOAD_L), DEADLOCK),
    "no bytes are expected": (lines(init(1), bulk(), ARRIVE, wait(0), LOAD_L), RACE | DEADLOCK | UNDRAINED),
    "a copy over what is still read": (
        lines(init(1), agents(lines(expect(), bulk(), wait(0)), LOAD_L)),
        RACE,
    ),
    "a ring of one slot": (
        lines(
            init(1),
            init(1, "%bar1"),
            agents(
                lines(wait(1, "%bar1"), expect(), bulk(), wait(0, "%bar1"), expect(), bulk(), wait(1, "%bar1")),
                lines(wait(0), LOAD_L, arrive("%bar1"), wait(1), LOAD_L.replace("%x", "%y"), arrive("%bar1")),
            ),
        ),
        SAFE,
    ),
    "a ring of one slot, released before the read": (
        lines(
            init(1),
            init(1, "%bar1"),
            agents(
                lines(wait(1, "%bar1"), expect(), bulk(), wait(0, "%bar1"), expect(), bulk(), wait(1, "%bar1")),
                lines(wait(0), arrive("%bar1"), LOAD_L, wait(1), LOAD_L.replace("%x", "%y"), arrive("%bar1")),
            ),
        ),
        RACE,
    ),
}

PROGRAMS = {
    **{name: (on_memrefs(body), known) for name, (body, known) in (TOKENS | QUEUES).items()},
    **{name: (on_pointers(body, HELPERS), known) for name, (body, known) in (MARKS | BARRIERS).items()},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_known_verdict(name: str) -> None:
    text, known = PROGRAMS[name]
    found = explore(parse(text))
    assert found.shown == known, found.witnesses


def pipeline(depth: int, trips: int, *, flush: bool = True) -> str:
    """
    The software pipeline of LLVM's "AMDGPU Asynchronous Operations", `trips` iterations long.

    Block i goes to cell i mod (depth + 1). The loop waits for the oldest block, uses it, and starts the next; after it
    the blocks are flushed one by one.
    """

    def block(i: int) -> str:
        cell = i % (depth + 1)
        place = f"%p{i} = llvm.getelementptr %l[{cell}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32"
        return lines(place, copy("%g", f"%p{i}"), MARK)

    def use(i: int) -> str:
        return f"%u{i} = llvm.load %p{i} : !llvm.ptr<3> -> i32"

    body = [block(i) for i in range(depth)]
    body += [lines(wait_marks(depth - 1), use(i), block(i + depth)) for i in range(trips)]
    if flush:
        body += [lines(wait_marks(depth - 1 - i), use(trips + i)) for i in range(depth)]
    return on_pointers(lines(*body))


@pytest.mark.parametrize("trips", range(5))
def test_software_pipeline_of_marks(trips: int) -> None:
    assert verdict(parse(pipeline(3, trips))) == SAFE
    assert verdict(parse(pipeline(3, trips, flush=False))) == UNDRAINED
    late = pipeline(3, trips).replace(wait_marks(2), wait_marks(3))
    assert "race" in verdict(parse(late))


@pytest.mark.parametrize("trips", range(4))
def test_handshake_over_a_ring(trips: int) -> None:
    """A producer and a consumer over a ring of two slots, in loops that compute slot and parity."""
    text = ring(trips)
    assert explore(parse(text)).shown == SAFE
    swapped = text.replace("arith.xori %parity, %n1", "arith.xori %parity, %n0")
    assert ("deadlock" in verdict(parse(swapped))) == (trips > 0)
    forgotten = text.replace(wait(0, "%e").replace("%n0", "%flipped"), "")
    assert ("race" in verdict(parse(forgotten))) == (trips > 2)


def ring(trips: int, depth: int = 2) -> str:
    stage = f"""
      %s = arith.remui %i, %c{depth} : index
      %turn = arith.divui %i, %c{depth} : index
      %odd = arith.remui %turn, %c2 : index
      %parity = arith.index_cast %odd : index to i32
      %flipped = arith.xori %parity, %n1 : i32
      %s64 = arith.index_cast %s : index to i64
      %f = llvm.getelementptr %bar[%s64] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %f[{depth}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %l[%s64] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.array<4 x i32>
    """
    inits = [
        f"%b{s} = llvm.getelementptr %bar[{s}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64\n" + init(1, f"%b{s}")
        for s in range(2 * depth)
    ]
    loop = f"scf.for %i = %c0 to %c{trips} step %c1 {{ {stage}"
    produce = lines(
        loop, wait(0, "%e").replace("%n0", "%flipped"), expect(bar="%f"), bulk(16, "%f", "%g", "%slot"), "}"
    )
    consume = lines(
        loop,
        wait(0, "%f").replace("%n0", "%parity"),
        "%x = llvm.load %slot : !llvm.ptr<3> -> i32",
        arrive("%e"),
        "}",
    )
    return on_pointers(lines(*inits, agents(produce, consume)))


def interleaved(iterations: int, count: int, *, split: bool) -> str:
    """
    TVM RFC 0077's example of interleaved producers: copy A, compute, copy B, the copies three slots ahead.

    The loop commits each copy by itself and leaves `count` groups unfinished when it computes; the prologue commits
    the two copies of a slot as one group, or as two (`split`).
    """
    ahead, slots = 3, 4

    def move(source: str, slot: int) -> str:
        return (
            f"async_queue.scope {{ %w = memref.load %in{source}[%c{slot}] : memref<4xi32> "
            f"memref.store %w, %{source}[%c{slot}] : memref<4xi32> }}"
        )

    def commit(*moves: str) -> str:
        return f"async_queue.commit 0 {{ {lines(*moves)} }}"

    def use(source: str, i: int) -> str:
        return f"%{source}{i} = memref.load %{source}[%c{i % slots}] : memref<4xi32>"

    body: list[str] = []
    for i in range(ahead):
        both = (move("a", i), move("b", i))
        body += [commit(both[0]), commit(both[1])] if split else [commit(*both)]
    for i in range(iterations):
        slot = (i + ahead) % slots
        compute = lines(use("a", i), use("b", i))
        body += [commit(move("a", slot)), f"async_queue.wait 0, {count} {{ {compute} }}", commit(move("b", slot))]
    body.append("async_queue.wait 0, 0")
    return f"""
      func.func @main(%ina: memref<4xi32>, %inb: memref<4xi32>, %a: memref<4xi32>, %b: memref<4xi32>) {{
        {constants(range(slots), "c", "index")}
        {lines(*body)}
        func.return
      }}"""


def test_interleaved_commits_of_the_rfc() -> None:
    """One commit a prologue slot makes the count of 5 a race in the first iterations; split commits make it safe."""
    for iterations in range(1, 6):
        assert verdict(parse(interleaved(iterations, 5, split=True))) == SAFE
        assert verdict(parse(interleaved(iterations, 6, split=True))) == RACE
        assert verdict(parse(interleaved(iterations, 5, split=False))) == RACE
        assert verdict(parse(interleaved(iterations, 4, split=False))) == RACE
        assert verdict(parse(interleaved(iterations, 3, split=False))) == SAFE


def test_programs_without_meaning_are_marked() -> None:
    overrun = explore(parse(on_pointers(lines(init(1), "nvvm.mbarrier.arrive %bar, %n2 : !llvm.ptr<3>"))))
    assert (overrun.overrun, overrun.overfull, overrun.unbalanced) == (True, False, False)
    group = lines("%s = async.create_group %c0 : !async.group", task("%t", ""), "async.await %t : !async.token")
    overfull = explore(parse(on_memrefs(lines(group, "%r = async.add_to_group %t, %s : !async.token"))))
    assert (overfull.overrun, overfull.overfull, overfull.unbalanced) == (False, True, False)


def test_phases_that_lack_bytes_for_good_are_marked() -> None:
    assert explore(parse(on_pointers(lines(init(1), expect(32), bulk())))).unbalanced
    assert not explore(parse(on_pointers(lines(init(1), expect(), bulk())))).unbalanced


def test_witness_leads_to_the_mistake() -> None:
    found = explore(parse(on_memrefs(lines(task("%t", STORE_A0), LOAD_A0, "async.await %t : !async.token"))))
    assert found.verdict == RACE
    assert found.witnesses["race"] == [
        "main: %t = async.execute",
        "main: %x = memref.load %a[%c0] : memref<4xi32>",
        "task 1: memref.store %v, %a[%c0] : memref<4xi32>",
        "with what main did",
    ]


def test_too_many_steps_are_refused() -> None:
    commit = "async_queue.commit 0"
    text = on_memrefs(lines(agents(*[lines(*[commit] * 4)] * 4), "async_queue.wait 0, 0"))
    with pytest.raises(TooLargeError, match="more than 1000 steps"):
        explore(parse(text), most_steps=1_000)
