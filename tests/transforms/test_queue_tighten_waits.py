"""Waits are raised to the last count that is safe and no further, on random programs whose counts were lowered."""

from __future__ import annotations

import random
from functools import cache

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation
from xdsl.universe import Universe

from tests.support.corpora import corpus, sample
from tests.support.counted_programs import random_rotation, rotating_program
from tests.support.ir import parse, print_custom, run_passes
from tests.support.meaning import assert_same_meaning
from tests.support.mixed_queue_programs import MixedProgram, mixed_program
from tests.support.queue_exactness import slack_waits, waits_in, with_count, without_wait
from tests.support.token_programs import token_program
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.transforms.queues.queue_tighten_waits.one_queue import OTHER_MODELS

ROTATING = sample(range(5, 17), 3)
TOKENS = sample(range(6, 18), 3)
MIXED = sample(range(72), 18)
PASS = "queue-tighten-waits"


def is_safe(module: ModuleOp) -> bool:
    return check(module, "f", trip_counts=range(6)).verdict is Verdict.SAFE


def counts(module: ModuleOp) -> list[int]:
    found = [wait.count for wait in waits_in(module)]
    return [count for count in found if isinstance(count, int)]


def lowered(module: ModuleOp, rng: random.Random) -> ModuleOp:
    """The module with some of its counts smaller, which is as safe."""
    for wait in waits_in(module):
        count = wait.count
        if isinstance(count, int):
            wait.properties["count"] = IntegerAttr(rng.randint(0, count), i64)
    return module


def tightened(text: str) -> ModuleOp:
    with recorded_diagnostics():
        return run_passes(parse(text), PASS)


def assert_tight(before: ModuleOp, after: ModuleOp, arguments: list[dict[str, int]]) -> None:
    """Safe, with the same numbers; no wait that is left may leave a group more."""
    assert_same_meaning(before, after, "f", arguments, orders=("lazy", "random:2"))
    assert is_safe(after)
    assert not slack_waits(after, is_safe)
    for number, wait in enumerate(waits_in(after)):
        count = wait.count
        assert isinstance(count, int)
        assert not is_safe(with_count(after, number, count + 1))


def tighten_lowered(original: ModuleOp, seed: int, arguments: list[dict[str, int]]) -> list[int] | None:
    """Lower counts, tighten them, and check what comes out; the counts then, None where the pass let some stay."""
    before = lowered(original.clone(), random.Random(seed))
    after = before.clone()
    with recorded_diagnostics() as remarks:
        run_passes(after, PASS)
    if any("stays as it is" in str(remark) for remark in remarks):
        assert_same_meaning(before, after, "f", arguments, orders=("lazy", "random:2"))
        return None
    assert_tight(before, after, arguments)
    return counts(after)


@corpus(len(ROTATING))
def test_rotating_programs_get_their_counts_back():
    """The waits in front of the last one; the last one may go where nothing is left by then."""
    back = 0
    for seed in ROTATING:
        original = parse(rotating_program(random_rotation(seed)))
        if not is_safe(original):
            continue
        found = tighten_lowered(original, seed, [{"n": n, "k": 1} for n in (0, 1, 4)])
        if found is not None:
            assert found == counts(original)[: len(found)]
            back += 1
    assert back >= len(ROTATING) // 2


@corpus(len(TOKENS))
def test_token_programs_get_counts_that_are_exact():
    judged = 0
    for seed in TOKENS:
        original = run_passes(parse(token_program(seed).text), "convert-async-to-queue")
        arguments = [{"n": n, "c": c} for n, c in ((0, 0), (1, 1), (4, 0))]
        judged += tighten_lowered(original, seed, arguments) is not None
    assert judged >= len(TOKENS) // 2


# One part that can be judged, and another that cannot -----------------------------------------------------------------


def tags(module: ModuleOp) -> dict[int, int]:
    """The counts of the waits that have a tag, by tag."""
    found: dict[int, int] = {}
    for wait in waits_in(module):
        tag = wait.attributes.get("tag")
        if isinstance(tag, IntegerAttr) and isinstance(wait.count, int):
            found[tag.value.data] = wait.count
    return found


def with_tags(text: str, counts: dict[int, int]) -> ModuleOp:
    """The program with these counts; waits with a tag that has none do not wait."""
    module = parse(text)
    gone: list[int] = []
    for number, wait in enumerate(waits_in(module)):
        tag = wait.attributes.get("tag")
        if isinstance(tag, IntegerAttr) and tag.value.data in counts:
            wait.properties["count"] = IntegerAttr(counts[tag.value.data], i64)
        elif tag is not None:
            gone.append(number)
    for number in reversed(gone):
        module = without_wait(module, number)
    return module


@cache
def mixed(seed: int) -> tuple[MixedProgram, dict[int, int], dict[int, int], tuple[str, ...]]:
    """A program, the counts of its waits by tag before and after, and what was said."""
    program = mixed_program(seed)
    after = parse(program.text)
    before = tags(after)
    with recorded_diagnostics() as remarks:
        run_passes(after, PASS)
    return program, before, tags(after), tuple(map(str, remarks))


@corpus(1)
@pytest.mark.parametrize("seed", MIXED)
def test_what_is_won_beside_an_obstacle_is_right_whatever_the_obstacle_does(seed: int) -> None:
    """Each program that it may be, and that was safe, is safe with the new counts, and computes the same."""
    program, _, counts_after, _ = mixed(seed)
    for text in program.realisations():
        before = parse(text)
        if is_safe(before):
            after = with_tags(text, counts_after)
            arguments = [{"n": n, "k": 1} for n in (0, 1, 4)]
            assert_same_meaning(before, after, "f", arguments, ("eager", "lazy", f"random:{seed}"))
            assert is_safe(after), f"{text}\n{counts_after}"


@corpus(1)
@pytest.mark.parametrize("seed", MIXED)
def test_what_is_won_beside_an_obstacle_is_exact(seed: int) -> None:
    """A wait that was touched may leave no group more: one of the programs that it may be races then."""
    program, before, counts_after, _ = mixed(seed)
    for tag, count in counts_after.items():
        if count != before[tag]:
            more = [with_tags(text, {**counts_after, tag: count + 1}) for text in program.realisations()]
            assert not all(map(is_safe, more)), f"seed {seed}, wait {tag}"


@corpus(len(MIXED))
def test_much_is_won_beside_obstacles_and_the_rest_says_why() -> None:
    """Everything that could be lowered comes back, or a remark tells of an obstacle."""
    lowered_ones = won = 0
    for seed in MIXED:
        program, before, counts_after, remarks = mixed(seed)
        for tag, exact in enumerate(program.counts):
            if before[tag] < exact:
                lowered_ones += 1
                won += counts_after.get(tag) == exact
        left = [tag for tag, count in counts_after.items() if count == before[tag] < program.counts[tag]]
        said = [remark for remark in remarks if "stays as it is: " in remark]
        assert len(said) >= len(left), f"seed {seed}: {remarks}"
    assert 3 * won >= lowered_ones, (won, lowered_ones)


# Case by case ---------------------------------------------------------------------------------------------------------


def ring(count: int, drain: str = "async_queue.wait 0, 0") -> str:
    return f"""
    func.func @f(%n: index, %out: memref<?xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %x = arith.constant 1.0 : f32
      %ring = memref.alloc() : memref<3xf32>
      async_queue.commit 0 {{
        async_queue.scope {{
          memref.store %x, %ring[%c0] : memref<3xf32>
        }}
      }}
      async_queue.commit 0 {{
        async_queue.scope {{
          memref.store %x, %ring[%c1] : memref<3xf32>
        }}
      }}
      scf.for %i = %c0 to %n step %c1 {{
        %ahead = arith.addi %i, %c2 : index
        %slot = arith.remui %ahead, %c3 : index
        async_queue.commit 0 {{
          async_queue.scope {{
            memref.store %x, %ring[%slot] : memref<3xf32>
          }}
        }}
        async_queue.wait 0, {count} {{
          %here = arith.remui %i, %c3 : index
          %y = memref.load %ring[%here] : memref<3xf32>
          memref.store %y, %out[%i] : memref<?xf32>
        }}
      }}
      {drain}
      func.return
    }}
    """


def test_a_ring_of_three_leaves_two():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(0)), PASS)
    assert counts(after) == [2, 0]
    assert len(remarks) == 1
    text = str(remarks[0])
    assert "raised from 0 to 2; with 3: read after write on" in text
    assert "in @f(n = 1)" in text


def test_what_is_exact_stays():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(2)), PASS)
    assert print_custom(after) == print_custom(parse(ring(2)))
    assert not remarks


def test_waits_that_nothing_needs_go_and_their_bodies_stay():
    text = ring(
        2,
        "async_queue.wait 0, 3\nasync_queue.wait 1, 0 {\nmemref.store %x, %out[%c0] : memref<?xf32>\n}\n"
        "async_queue.wait 0, 0",
    )
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(text), PASS)
    assert counts(after) == [2, 0]
    assert [str(remark) for remark in remarks if "removed: all is as safe" not in str(remark)] == []
    assert "memref.store %x, %out[%c0]" in print_custom(after)


def test_a_program_that_races_stays_with_a_remark():
    with recorded_diagnostics() as remarks:
        after = run_passes(parse(ring(3)), PASS)
    assert print_custom(after) == print_custom(parse(ring(3)))
    assert "stays as it is: read after write" in str(remarks[0])


UNKNOWN_OP = '"test.what"() : () -> ()'


def test_an_op_that_the_checker_does_not_know_leaves_the_waits_in_front_of_it_alone():
    module = parse(ring(0, f"async_queue.wait 0, 0\n{UNKNOWN_OP}"), allow_unregistered=True)
    with recorded_diagnostics() as remarks:
        run_passes(module, PASS)
    assert counts(module) == [2, 0]
    assert ["raised from 0 to 2" in str(remark) for remark in remarks] == [True]


def test_an_op_that_the_checker_does_not_know_keeps_the_waits_behind_it():
    module = parse(ring(0, f"{UNKNOWN_OP}\nasync_queue.wait 0, 0"), allow_unregistered=True)
    with recorded_diagnostics() as remarks:
        run_passes(module, PASS)
    assert counts(module) == [2, 0]
    (of_the_last,) = [str(remark) for remark in remarks if "stays" in str(remark)]
    assert "stays as it is: 'test.what' may commit groups before it that nobody sees" in of_the_last


def test_a_function_that_others_call_is_judged_with_them():
    """The wait in the callee covers the caller's group: alone it would be needed by nobody."""
    text = """
    func.func private @settle() {
      async_queue.wait 0, 0
      func.return
    }
    func.func @f(%m: memref<4xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      func.call @settle() : () -> ()
      %y = memref.load %m[%c0] : memref<4xf32>
      func.return %y : f32
    }
    """
    assert counts(tightened(text)) == [0]


def test_computed_counts_stay():
    text = ring(0, "async_queue.wait 0, %c0")
    after = tightened(text)
    assert counts(after) == [2]
    assert len(waits_in(after)) == 2


def test_capture_at_issue_needs_fewer_waits():
    """A source that is read at issue may be overwritten at once."""
    text = """
    func.func @f(%m: memref<4xf32>, %k: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          %y = memref.load %m[%c0] : memref<4xf32>
          memref.store %y, %k[%c0] : memref<4xf32>
        }
      }
      async_queue.wait 0, 0
      memref.store %x, %m[%c0] : memref<4xf32>
      async_queue.wait 0, 0
      func.return
    }
    """
    with recorded_diagnostics():
        at_completion = run_passes(parse(text), PASS)
        at_issue = run_passes(parse(text), f"{PASS}{{capture=issue}}")
    assert print_custom(at_completion).index("async_queue.wait") < print_custom(at_completion).index("memref.store %x")
    assert print_custom(at_issue).index("async_queue.wait") > print_custom(at_issue).index("memref.store %x")
    assert counts(at_completion) == counts(at_issue) == [0]


def said_of(text: str, **options: bool) -> tuple[ModuleOp, list[str]]:
    module = parse(text, **options)
    with recorded_diagnostics() as remarks:
        run_passes(module, PASS)
    return module, [str(remark) for remark in remarks]


def test_a_queue_that_races_does_not_keep_the_others():
    """Queue 4 is waited for too late; the ring, on queue 0, has nothing to do with it."""
    late = """
    %own = memref.alloc() : memref<1xf32>
    async_queue.commit 4 {
      async_queue.scope {
        memref.store %x, %own[%c0] : memref<1xf32>
      }
    }
    %y = memref.load %own[%c0] : memref<1xf32>
    async_queue.wait 4, 0
    async_queue.wait 0, 0
    """
    after, remarks = said_of(ring(0, late))
    assert counts(after) == [2, 0, 0]
    assert "raised from 0 to 2" in remarks[0]
    assert "stays as it is: read after write on global 'own'" in remarks[1]
    assert len(remarks) == 2


def test_a_wait_that_makes_up_for_a_queue_that_cannot_be_told_is_named():
    """Only the computed wait covers the load, if it does: so nothing of queue 0 can be judged."""
    text = """
    func.func @f(%m: memref<4xf32>, %ids: memref<1xindex>, %x: f32) -> f32 {
      %c0 = arith.constant 0 : index
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      %id = memref.load %ids[%c0] : memref<1xindex>
      async_queue.wait %id, 0
      %y = memref.load %m[%c0] : memref<4xf32>
      async_queue.wait 0, 0
      func.return %y : f32
    }
    """
    after, remarks = said_of(text)
    assert print_custom(after) == print_custom(parse(text))
    assert "its queue is computed" in remarks[0]
    assert "read after write on global 'm'[0]" in remarks[1]


def test_rings_with_bounds_of_their_own_are_judged_one_by_one():
    """The checker proves one unknown trip count at a time, and each queue needs only its own."""
    one = ring(0).replace("func.return\n    }", "")
    body = one[one.index("%ring =") :]
    two = body.replace("ring", "other").replace("%n", "%m").replace("queue.commit 0", "queue.commit 1")
    two = two.replace("queue.wait 0,", "queue.wait 1,").replace("%out", "%out2")
    text = one.replace("%n: index,", "%n: index, %m: index, %out2: memref<?xf32>,") + two + "func.return\n}"
    after, remarks = said_of(text)
    assert counts(after) == [2, 0, 2, 0]
    assert len(remarks) == 2


def test_a_wait_in_a_function_that_is_called_is_judged_beside_an_obstacle():
    text = """
    func.func private @settle() {
      async_queue.wait 0, 0
      func.return
    }
    func.func @f(%m: memref<4xf32>, %ids: memref<1xindex>) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = arith.constant 1.0 : f32
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c1] : memref<4xf32>
        }
      }
      func.call @settle() : () -> ()
      %y = memref.load %m[%c0] : memref<4xf32>
      %id = memref.load %ids[%c0] : memref<1xindex>
      async_queue.wait %id, 0
      async_queue.wait 0, 0
      func.return %y : f32
    }
    """
    after, remarks = said_of(text)
    assert counts(after) == [1, 0, 0]
    assert ["raised from 0 to 1" in remark for remark in remarks] == [True, False]


def test_a_wait_behind_a_call_that_leads_out_stays_though_nothing_seems_to_need_it():
    """What is called may have committed the group that the wait is for."""
    text = """
    func.func private @start(memref<4xf32>)
    func.func @f(%m: memref<4xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      func.call @start(%m) : (memref<4xf32>) -> ()
      async_queue.wait 0, 0
      %y = memref.load %m[%c0] : memref<4xf32>
      func.return %y : f32
    }
    """
    after, remarks = said_of(text)
    assert counts(after) == [0]
    assert "'func.call' may commit groups before it that nobody sees" in remarks[0]


def test_what_a_loop_that_data_end_may_touch_has_to_be_complete_before_it():
    """The loop reads the ring: the wait in front of it stays, and not for the loop's trips that are tried."""
    text = """
    func.func @f(%m: memref<4xf32>, %flags: memref<1xindex>, %out: memref<4xf32>, %x: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      async_queue.wait 0, 0
      %last = scf.while (%k = %c0) : (index) -> index {
        %n = memref.load %flags[%c0] : memref<1xindex>
        %more = arith.cmpi slt, %k, %n : index
        scf.condition(%more) %k : index
      } do {
      ^bb0(%k: index):
        %y = memref.load %m[%k] : memref<4xf32>
        memref.store %y, %out[%k] : memref<4xf32>
        %next = arith.addi %k, %c1 : index
        scf.yield %next : index
      }
      async_queue.wait 0, 0
      func.return
    }
    """
    after, remarks = said_of(text)
    assert counts(after) == [0]
    assert ["removed" in remark for remark in remarks] == [True]
    (wait,) = waits_in(after)
    assert wait.next_op is not None
    assert wait.next_op.name == "scf.while"


def test_tokens_beside_queues_keep_the_waits_where_the_whole_cannot_be_judged():
    text = """
    func.func @f(%m: memref<4xf32>, %ids: memref<1xindex>) {
      %c0 = arith.constant 0 : index
      %x = arith.constant 1.0 : f32
      %t = async.execute {
        async.yield
      }
      async.await %t : !async.token
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      %id = memref.load %ids[%c0] : memref<1xindex>
      async_queue.wait %id, 0
      async_queue.wait 0, 0
      func.return
    }
    """
    after, remarks = said_of(text)
    assert print_custom(after) == print_custom(parse(text))
    assert all("only where nothing else is asynchronous, as 'async.execute'" in remark for remark in remarks)
    assert len(remarks) == 2


def test_an_obstacle_in_one_function_does_not_keep_another_one() -> None:
    other = """
    func.func private @start(memref<4xf32>)
    func.func @g(%m: memref<4xf32>) {
      func.call @start(%m) : (memref<4xf32>) -> ()
      async_queue.wait 0, 0
      func.return
    }
    """
    after, remarks = said_of(ring(0) + other)
    assert counts(after) == [2, 0, 0]
    assert ["stays as it is" in remark for remark in remarks] == [False, True]


def test_a_number_that_a_branch_may_have_stored_is_not_known() -> None:
    """What comes behind depends on it: with 0 in `%state` the load is not run, with 1 it is."""
    text = """
    func.func @f(%m: memref<4xf32>, %flags: memref<1xindex>, %x: f32, %out: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %state = memref.alloc() : memref<1xindex>
      async_queue.commit 0 {
        async_queue.scope {
          memref.store %x, %m[%c0] : memref<4xf32>
        }
      }
      async_queue.wait 0, 0
      %flag = memref.load %flags[%c0] : memref<1xindex>
      %is_set = arith.cmpi ne, %flag, %c0 : index
      scf.if %is_set {
        memref.store %c1, %state[%c0] : memref<1xindex>
      } else {
        memref.store %c0, %state[%c0] : memref<1xindex>
      }
      %now = memref.load %state[%c0] : memref<1xindex>
      %reads = arith.cmpi ne, %now, %c0 : index
      scf.if %reads {
        %y = memref.load %m[%c0] : memref<4xf32>
        memref.store %y, %out[%c0] : memref<1xf32>
      }
      async_queue.wait 0, 0
      func.return
    }
    """
    after, _ = said_of(text)
    (wait,) = waits_in(after)
    assert wait.next_op is not None
    assert wait.next_op.results[0].name_hint == "flag"


def test_an_obstacle_in_an_obstacle_gives_way_with_it() -> None:
    """The branch is met first; then it turns out that two numbers bound loops, and the loop around it goes, too."""
    beside = """
    scf.for %j = %c0 to %m step %c1 {
      %flag = memref.load %flags[%c0] : memref<1xindex>
      %is_set = arith.cmpi ne, %flag, %c0 : index
      scf.if %is_set {
        memref.store %flag, %flags[%c0] : memref<1xindex>
      }
    }
    """
    text = ring(0, f"async_queue.wait 0, 0\n{beside}")
    after, remarks = said_of(text.replace("%n: index,", "%n: index, %m: index, %flags: memref<1xindex>,"))
    assert counts(after) == [2, 0]
    assert ["raised from 0 to 2" in remark for remark in remarks] == [True]


@pytest.mark.parametrize("name", ["async", "async_region", "nvgpu", "nvvm", "rocdl", "gpu", "nv_tileaa", "nv_tileas"])
def test_every_op_of_another_model_is_known_for_one(name: str) -> None:
    assert all(issubclass(kind, OTHER_MODELS) for kind in operations_of(name))


@pytest.mark.parametrize("name", ["arith", "async_queue", "func", "memref", "scf", "vector"])
def test_no_op_that_says_nothing_of_time_is_taken_for_another_model(name: str) -> None:
    assert not any(issubclass(kind, OTHER_MODELS) for kind in operations_of(name))


def operations_of(dialect: str) -> list[type[Operation]]:
    return list(Universe.get_multiverse().all_dialects[dialect]().operations)
