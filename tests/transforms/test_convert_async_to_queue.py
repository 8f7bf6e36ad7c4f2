"""Tokens to counts: the meaning stays, counts are exact, queues the fewest; what cannot be said is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.checker.explorer.programs import generate
from tests.support.corpora import corpus, sample, sample_with
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tests.support.queue_exactness import slack_waits, waits_in
from tests.support.token_programs import token_program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.async_queue import CommitOp
from tileas_xdsl.machine.core.violations import UnsupportedError
from tileas_xdsl.transforms.queues.convert_async_to_queue.queues import assign_queues

PROGRAMS = sample_with([10], range(200), 60)
"""Few need three queues; one of them is always there."""

TASK_GRAPHS = sample(range(150), 40)
TOKEN = "!async.token"
PASS = "convert-async-to-queue"


def is_safe(module: ModuleOp) -> bool:
    return all(
        check(module, "f", args={"n": n, "c": c}, trip_counts=[0]).verdict is Verdict.SAFE
        for n in (0, 1, 3, 4)
        for c in (0, 1)
    )


def queues_of(module: ModuleOp) -> set[object]:
    return {op.queue for op in module.walk() if isinstance(op, CommitOp)}


def counts(module: ModuleOp) -> list[tuple[object, object]]:
    return [(wait.queue, wait.count) for wait in waits_in(module)]


# Random programs ------------------------------------------------------------------------------------------------------


@corpus(len(PROGRAMS))
def test_random_programs_keep_their_meaning_and_every_wait_is_exact():
    """
    Where one wait may leave a group more, it is because several tokens are waited for at once, and memory needs fewer.
    """
    waits = slack = 0
    for seed in PROGRAMS:
        text = token_program(seed).text
        before, after = parse(text), run_passes(parse(text), PASS)
        arguments = [{"n": n, "c": c} for n, c in ((0, 0), (1, 1), (4, seed % 2))]
        assert_same_meaning(before, after, "f", arguments, orders=("eager", "lazy", f"random:{seed}"))
        waits += len(waits_in(after))
        slack += len(slack_waits(after, is_safe))
    assert waits > 3 * len(PROGRAMS)
    assert slack * 50 < waits


@corpus(len(PROGRAMS[::4]))
def test_fewer_queues_are_as_safe():
    for seed in PROGRAMS[::4]:
        text = token_program(seed).text
        exact = run_passes(parse(text), PASS)
        for limit in (1, 2):
            with recorded_diagnostics() as remarks:
                after = run_passes(parse(text), f"{PASS}{{max-queues={limit}}}")
            assert len(queues_of(after)) <= limit
            if len(queues_of(exact)) <= limit:
                assert print_custom(after) == print_custom(exact)
                assert not remarks
            else:
                assert any("also waits for" in str(remark) for remark in remarks)
            assert_same_meaning(parse(text), after, "f", [{"n": 3, "c": 1}], orders=("lazy", "random:1"))


@corpus(len(PROGRAMS))
def test_counts_survive_the_way_to_tokens_and_back():
    for seed in PROGRAMS:
        first = run_passes(parse(token_program(seed).text), PASS)
        again = run_passes(first.clone(), f"convert-queue-to-async,{PASS}")
        assert counts(again) == counts(first), seed


@corpus(len(TASK_GRAPHS))
def test_the_explorers_programs_stay_safe_or_are_refused():
    """Task graphs, groups, nested tasks and agents, many of them with a mistake: what was safe stays so."""
    safe = 0
    for seed in TASK_GRAPHS:
        text = generate("tokens", seed).text
        try:
            with recorded_diagnostics():
                after = run_passes(parse(text), PASS)
            before = check(parse(text)).verdict
        except (RefusedError, UnsupportedError):
            continue
        if before is Verdict.SAFE:
            assert check(after).verdict is Verdict.SAFE, f"{seed}\n{print_custom(after)}"
            safe += 1
    assert safe > 10


# The fewest queues ----------------------------------------------------------------------------------------------------


def straight_program(seed: int) -> tuple[str, list[tuple[str, list[int]]]]:
    """Tasks and waits in a row, each wait with an effect behind it, as text and as a list of (what, tasks)."""
    rng = random.Random(seed)
    events: list[tuple[str, list[int]]] = []
    lines = ["%c0 = arith.constant 0 : index", "%one = arith.constant 1.0 : f32"]
    tasks = 0
    for _ in range(rng.randint(4, 9)):
        if tasks < 6 and (tasks == 0 or rng.random() < 0.6):
            after = [task for task in range(tasks) if rng.random() < 0.2]
            dependencies = f" [{', '.join(f'%t{task}' for task in after)}]" if after else ""
            store = f"memref.store %one, %m{tasks % 4}[%c0] : memref<1xf32>"
            lines.append(f"%t{tasks} = async.execute{dependencies} {{\n{store}\nasync.yield\n}}")
            events.append(("start", [*after, tasks]))
            tasks += 1
        else:
            awaited = sorted(rng.sample(range(tasks), rng.randint(1, min(2, tasks))))
            lines += [f"async.await %t{task} : {TOKEN}" for task in awaited]
            lines.append("memref.store %one, %out[%c0] : memref<1xf32>")
            events.append(("wait", awaited))
    arguments = ", ".join(f"%m{index}: memref<1xf32>" for index in range(4))
    body = "\n".join(lines)
    return f"func.func @f({arguments}, %out: memref<1xf32>) {{\n{body}\nfunc.return\n}}", events


def partitions(items: int) -> Iterator[list[int]]:
    """Every way to put `items` items into queues: the queue of each."""

    def extend(start: list[int]) -> Iterator[list[int]]:
        if len(start) == items:
            yield start
            return
        for queue in range(max(start, default=-1) + 2):
            yield from extend([*start, queue])

    yield from extend([])


def keeps_waits_exact(queue_of: Sequence[int], events: Sequence[tuple[str, list[int]]]) -> bool:
    """By simulation: no wait finishes a task of its queue that the thread does not wait for then, or did before."""
    unfinished: list[int] = []
    for kind, tasks in events:
        waited = tasks[:-1] if kind == "start" else tasks
        for task in waited:
            if task not in unfinished:
                continue
            older = unfinished[: unfinished.index(task)]
            if any(queue_of[other] == queue_of[task] and other not in waited for other in older):
                return False
        unfinished = [task for task in unfinished if task not in waited]
        if kind == "start":
            unfinished.append(tasks[-1])
    return True


@corpus(len(PROGRAMS))
def test_the_queues_are_the_fewest():
    found: dict[int, int] = {}
    for seed in PROGRAMS:
        text, events = straight_program(seed)
        tasks = sum(kind == "start" for kind, _ in events)
        fewest = min(1 + max(p, default=-1) for p in partitions(tasks) if keeps_waits_exact(p, events))
        after = run_passes(parse(text), PASS)
        assert len(queues_of(after)) == fewest, text
        found[fewest] = found.get(fewest, 0) + 1
    assert len(found) > 2


def test_chains_of_an_order():
    """Two antichains of three, one above the other, need three queues whatever the matching starts with."""
    conflicts = {(a, b): 1 for base in (0, 3) for a in range(base, base + 3) for b in range(a + 1, base + 3)}
    assert assign_queues(6, conflicts, None).queues == 3
    assert assign_queues(6, conflicts, 2).queues == 2
    assert assign_queues(0, {}, 1).queue_of == []


def test_conflicts_that_are_no_order_still_keep_apart():
    """0 and 1, 1 and 2 may share, 0 and 2 may not: the chain 0, 1, 2 is cut."""
    assignment = assign_queues(3, {(0, 2): 1}, None)
    assert assignment.queue_of[0] != assignment.queue_of[2]
    assert assignment.queues == 2


# Case by case ---------------------------------------------------------------------------------------------------------


def function(body: str, arguments: str = "%m: memref<4xf32>, %n: index, %c: i1") -> str:
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in range(4))
    return f"func.func @f({arguments}) {{\n{constants}\n%one = arith.constant 1.0 : f32\n{body}\nfunc.return\n}}"


def store(slot: str) -> str:
    return f"{{\nmemref.store %one, %m[{slot}] : memref<4xf32>\nasync.yield\n}}"


ROTATING = f"""
%0 = async.execute {store("%c0")}
%1 = async.execute {store("%c1")}
%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0, %b = %1) -> ({TOKEN}, {TOKEN}) {{
  %t = async.execute {store("%c2")}
  async.await %a : {TOKEN}
  %x = memref.load %m[%c3] : memref<4xf32>
  scf.yield %b, %t : {TOKEN}, {TOKEN}
}}
async.await %r#0 : {TOKEN}
%y = memref.load %m[%c3] : memref<4xf32>
async.await %r#1 : {TOKEN}
"""


def test_rotating_tokens_count_two_one_zero():
    assert counts(run_passes(parse(function(ROTATING)), PASS)) == [(0, 2), (0, 1), (0, 0)]


def test_a_task_that_is_started_or_not_is_a_group_in_any_case():
    """
    The group is committed on both paths. Otherwise the path without it could not count on it, and would wait for all.
    """
    body = f"""
    %done = async.execute {{
      async.yield
    }}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%before = %done) -> ({TOKEN}) {{
      %t = scf.if %c -> ({TOKEN}) {{
        %u = async.execute {store("%c0")}
        scf.yield %u : {TOKEN}
      }} else {{
        scf.yield %done : {TOKEN}
      }}
      async.await %before : {TOKEN}
      %x = memref.load %m[%c3] : memref<4xf32>
      scf.yield %t : {TOKEN}
    }}
    async.await %r : {TOKEN}
    """
    assert counts(run_passes(parse(function(body)), PASS)) == [(0, 1), (0, 0)]


def test_tasks_that_are_only_waited_for_together_are_one_group():
    body = f"""
    %a = async.execute {store("%c0")}
    %b = async.execute {store("%c1")}
    %both = async.execute [%a, %b] {{
      async.yield
    }}
    %late = async.execute {store("%c2")}
    async.await %both : {TOKEN}
    %x = memref.load %m[%c3] : memref<4xf32>
    async.await %late : {TOKEN}
    """
    after = run_passes(parse(function(body)), PASS)
    assert counts(after) == [(0, 1), (0, 0)]
    assert sum(isinstance(op, CommitOp) for op in after.walk()) == 2


def test_a_name_for_several_is_as_old_as_the_youngest():
    body = f"""
    %a = async.execute {store("%c0")}
    %b = async.execute {store("%c1")}
    %both = async.execute [%a, %b] {{
      async.yield
    }}
    %late = async.execute {store("%c2")}
    async.await %a : {TOKEN}
    %x = memref.load %m[%c3] : memref<4xf32>
    async.await %both : {TOKEN}
    %y = memref.load %m[%c3] : memref<4xf32>
    async.await %late : {TOKEN}
    """
    assert counts(run_passes(parse(function(body)), PASS)) == [(0, 2), (0, 1), (0, 0)]


def test_what_is_known_to_be_complete_is_not_waited_for():
    body = f"""
    %a = async.execute {store("%c0")}
    async.await %a : {TOKEN}
    %x = memref.load %m[%c3] : memref<4xf32>
    async.await %a : {TOKEN}
    """
    assert counts(run_passes(parse(function(body)), PASS)) == [(0, 0)]


def test_functions_that_call_each_other_have_queues_of_their_own():
    helper = f"""
    func.func private @g(%m: memref<4xf32>) {{
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %t = async.execute {store("%c0")}
      async.await %t : {TOKEN}
      func.return
    }}
    """
    body = f"%t = async.execute {store('%c1')}\nfunc.call @g(%m) : (memref<4xf32>) -> ()\nasync.await %t : {TOKEN}"
    after = run_passes(parse(function(body) + helper), PASS)
    assert counts(after) == [(0, 0), (1, 0)]


def test_queues_in_use_stay_apart():
    body = f"async_queue.commit 2\n%t = async.execute {store('%c1')}\nasync.await %t : {TOKEN}"
    assert counts(run_passes(parse(function(body)), PASS)) == [(3, 0)]


def test_a_chosen_token_has_the_lesser_age():
    body = f"""
    %a = async.execute {store("%c0")}
    %b = async.execute {store("%c1")}
    %x = arith.select %c, %a, %b : {TOKEN}
    %u = async.execute {store("%c2")}
    async.await %x : {TOKEN}
    %v = memref.load %m[%c3] : memref<4xf32>
    async.await %a : {TOKEN}
    %w = memref.load %m[%c0] : memref<4xf32>
    async.await %b : {TOKEN}
    async.await %u : {TOKEN}
    """
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(function(body)), PASS)
    assert counts(after) == [(0, 1), (0, 2), (0, 0)]
    assert any("also waits for" in str(remark) for remark in remarks)


def test_regions_and_copies_of_a_device():
    """A region without tokens is a task as any other; so is `gpu.memcpy`, and `gpu.wait` waits."""
    body = f"""
    %k = memref.alloc() : memref<4xf32>
    %t = async_region.region {{
      memref.store %one, %m[%c0] : memref<4xf32>
      async_region.yield
    }}
    async.await %t : {TOKEN}
    %u = "gpu.wait"() : () -> !gpu.async.token
    """
    with pytest.raises(RefusedError, match="has no counterpart"):
        run_passes(parse(function(body)), PASS)
    body = body.replace('%u = "gpu.wait"() : () -> !gpu.async.token', DEVICE_COPY)
    after = run_passes(parse(function(body)), PASS)
    assert counts(after) == [(0, 0), (0, 0)]
    assert "memref.copy %m, %k" in print_custom(after)
    assert '"gpu.wait"' not in print_custom(after)


def test_what_the_host_does_at_once_stays():
    body = "%k = memref.alloc() : memref<4xf32>\n" + DEVICE_COPY.splitlines()[0].replace("%d = ", "").replace(
        " -> !gpu.async.token", " -> ()"
    )
    assert print_custom(run_passes(parse(function(body)), PASS)) == print_custom(parse(function(body)))


def test_a_function_without_tokens_stays():
    text = function("memref.store %one, %m[%c0] : memref<4xf32>")
    assert print_custom(run_passes(parse(text), PASS)) == print_custom(parse(text))


DEVICE_COPY = (
    '%d = "gpu.memcpy"(%k, %m) {operandSegmentSizes = array<i32: 0, 1, 1>} : '
    "(memref<4xf32>, memref<4xf32>) -> !gpu.async.token\n"
    '"gpu.wait"(%d) : (!gpu.async.token) -> ()'
)

REFUSALS = {
    "an older task of the same line": (
        f"""
        %0 = async.execute {store("%c0")}
        %1 = async.execute {store("%c1")}
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %0, %b = %1) -> ({TOKEN}, {TOKEN}) {{
          %t = async.execute {store("%c2")}
          async.await %b : {TOKEN}
          %x = memref.load %m[%c3] : memref<4xf32>
          scf.yield %t, %a : {TOKEN}, {TOKEN}
        }}
        async.await %r#0 : {TOKEN}
        async.await %r#1 : {TOKEN}
        """,
        "'async.await' op waits for a task while 'async.execute'",
    ),
    "a promise": (
        "%t, %v = async.execute -> !async.value<f32> {\nasync.yield %one : f32\n}\nasync.await %t : !async.token",
        "'async.execute' op returns more than its token",
    ),
    "a promise from elsewhere": (
        '%v = "test.promise"() : () -> !async.value<f32>\n%x = async.await %v : !async.value<f32>',
        "'test.promise' op promises a value",
    ),
    "a token in memory": (
        f"%k = memref.alloc() : memref<{TOKEN}>\n%t = async.execute {store('%c0')}\n"
        f"memref.store %t, %k[] : memref<{TOKEN}>",
        "'memref.store' op takes a token to where it cannot be followed",
    ),
    "a token from memory": (
        f"%k = memref.alloc() : memref<{TOKEN}>\n%t = memref.load %k[] : memref<{TOKEN}>\nasync.await %t : {TOKEN}",
        "'memref.load' op makes a token that cannot be followed",
    ),
    "a token into a call": (
        f"%t = async.execute {store('%c0')}\nfunc.call @g(%t) : ({TOKEN}) -> ()",
        "'func.call' op takes a token to where it cannot be followed",
    ),
    "a task in a task": (
        f"%t = async.execute {{\n%u = async.execute {store('%c0')}\nasync.yield\n}}\nasync.await %t : {TOKEN}",
        "'async.execute' op starts tasks or waits inside a task",
    ),
    "an address that is loaded": (
        "%k = memref.alloc() : memref<1xindex>\n%t = async.execute {\n%i = memref.load %k[%c0] : memref<1xindex>\n"
        f"memref.store %one, %m[%i] : memref<4xf32>\nasync.yield\n}}\nasync.await %t : {TOKEN}",
        "'memref.store' op decides by what 'async.execute' loads",
    ),
    "a branch that is loaded": (
        "%k = memref.alloc() : memref<1xi1>\n%t = async.execute {\n%i = memref.load %k[%c0] : memref<1xi1>\n"
        f"scf.if %i {{\nmemref.store %one, %m[%c0] : memref<4xf32>\n}}\nasync.yield\n}}\nasync.await %t : {TOKEN}",
        "'scf.if' op decides by what 'async.execute' loads",
    ),
    "memory of a task": (
        f"%t = async.execute {{\n%k = memref.alloc() : memref<1xf32>\nasync.yield\n}}\nasync.await %t : {TOKEN}",
        "'memref.alloc' op reserves or frees memory inside a task",
    ),
    "an unknown op in a task": (
        f'%t = async.execute {{\n"test.what"() : () -> ()\nasync.yield\n}}\nasync.await %t : {TOKEN}',
        "'test.what' op does in a task what nobody knows",
    ),
    "a resource": (
        '%dma = async_region.create_resource "dma"\n%k = memref.alloc() : memref<4xf32>\n'
        f"%t = async_region.copy %m to %k on %dma : memref<4xf32> to memref<4xf32>\nasync.await %t : {TOKEN}",
        "'async_region.copy' op takes turns on a resource",
    ),
    "an allocation by token": (
        f"%k, %t = async_region.alloc : memref<4xf32>\nasync.await %t : {TOKEN}",
        "'async_region.alloc' op returns more than its token",
    ),
    "a task of an agent": (
        f"nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1>}} {{\n^bb0:\n"
        f"%t = async.execute {store('%c0')}\nasync.await %t : {TOKEN}\n}} : () -> ()",
        "'async.execute' op is a task of another agent or task",
    ),
    "a wait of an agent": (
        f"%t = async.execute {store('%c0')}\nnv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1>}} "
        f"{{\n^bb0:\nasync.await %t : {TOKEN}\n}} : () -> ()\nasync.await %t : {TOKEN}",
        "'async.await' op waits in another agent or task",
    ),
    "the rank of a member": (
        f"%g = async.create_group %c1 : !async.group\n%t = async.execute {store('%c0')}\n"
        f"%k = async.add_to_group %t, %g : {TOKEN}\n%l = arith.addi %k, %c1 : index\nasync.await_all %g",
        "'async.add_to_group' op is asked for the rank",
    ),
    "a region that hands out tokens": (
        "%k = memref.alloc() : memref<4xf32>\n%t = async_region.region {\n"
        f"%u = async_region.copy %m to %k : memref<4xf32> to memref<4xf32>\nasync_region.yield after [%u]\n}}\n"
        f"async.await %t : {TOKEN}",
        "'async_region.region' op is complete only when tokens of its body are",
    ),
    "a queue that is computed": (
        f"async_queue.commit %n\n%t = async.execute {store('%c0')}\nasync.await %t : {TOKEN}",
        "'async_queue.commit' op uses a queue that is computed",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_name_op_reason_and_way_out_and_touch_nothing(case: str):
    body, message = REFUSALS[case]
    text = f"func.func private @g(%t: {TOKEN})\n" + function(body)
    module = parse(text, allow_unregistered=True)
    with pytest.raises(RefusedError) as error:
        run_passes(module, PASS)
    assert message in str(error.value)
    assert "help: " in str(error.value)
    assert print_custom(module) == print_custom(parse(text, allow_unregistered=True))


def test_disorder_is_accepted_with_a_limit():
    body, _ = REFUSALS["an older task of the same line"]
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(function(body)), f"{PASS}{{max-queues=1}}")
    assert counts(after)[0] == (0, 1)
    assert any("also waits for" in str(remark) for remark in remarks)


def test_tokens_of_callers_are_refused():
    for text in (
        f"func.func @f(%t: {TOKEN}) {{\nasync.await %t : {TOKEN}\nfunc.return\n}}",
        f"func.func @f(%m: memref<4xf32>) -> {TOKEN} {{\n%c0 = arith.constant 0 : index\n"
        f"%one = arith.constant 1.0 : f32\n%t = async.execute {store('%c0')}\nfunc.return %t : {TOKEN}\n}}",
    ):
        with pytest.raises(RefusedError, match="token"):
            run_passes(parse(text), PASS)


def test_a_limit_below_one_is_refused():
    with pytest.raises(RefusedError, match="allow one queue"):
        run_passes(parse(function("")), f"{PASS}{{max-queues=0}}")
