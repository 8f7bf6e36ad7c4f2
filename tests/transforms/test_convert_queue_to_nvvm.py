"""
`convert-queue-to-nvvm`: the same numbers under all orders, no race, counts as large as they can be, PTX.

The counts are held against a walk of all paths of random programs, and each against the checker: one group more is a
race, where the wait is the only one.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import corpus, each, sample
from tests.support.counting_programs import (
    CELLS,
    Path,
    Program,
    least_groups_since,
    random_program,
    waits_in,
)
from tests.support.ir import ROOT, parse, print_custom, print_generic, run_passes
from tests.support.lowering import ptx_of
from tests.support.meaning import assert_same_meaning
from tests.support.mlir import mlir_opt
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.diagnostics import Diagnostic, RefusedError, recorded_diagnostics
from tileas_xdsl.dialects.nvvm.cp_async import CpAsyncOp, CpAsyncWaitGroupOp
from tileas_xdsl.transforms.queues.convert_queue_to_nvvm import CpAsync
from tileas_xdsl.transforms.queues.queue_lowering.plan import plan_lowering

COUNTED = sample(range(150), 30)
JUDGED = sample(range(20), 8)
PASS = "convert-queue-to-nvvm"
MOST_PATHS = 600


def converted(text: str, options: str = "") -> tuple[ModuleOp, list[Diagnostic]]:
    module = parse(text)
    with recorded_diagnostics() as said:
        run_passes(module, PASS + options)
    return module, said


def counts_in(module: ModuleOp) -> list[int]:
    return [op.n.value.data for op in module.walk() if isinstance(op, CpAsyncWaitGroupOp)]


def copies_in(module: ModuleOp) -> list[int]:
    return [op.size.value.data for op in module.walk() if isinstance(op, CpAsyncOp)]


# Random programs ------------------------------------------------------------------------------------------------------


def arguments(bits: int) -> dict[str, object]:
    source = np.arange(1, CELLS + 1, dtype=np.float32)
    return {"src": source, "ring": np.zeros(CELLS, np.float32), "out": np.zeros(CELLS, np.float32), "bits": bits}


def some_paths(program: Program, seed: int, number: int) -> list[Path]:
    paths = list(program.paths(MOST_PATHS))
    return random.Random(seed).sample(paths, min(number, len(paths)))


@each("seed", range(60), 15)
def test_random_programs_keep_their_numbers_and_their_safety(seed: int) -> None:
    program = random_program(seed, chance=seed % 2 == 1)
    before, (after, _) = parse(program.text()), converted(program.text())
    sets = [arguments(path.bits) for path in some_paths(program, seed, 2)]
    assert_same_meaning(before, after, "f", sets, orders=("eager", "lazy", "random:1"))


@corpus(len(COUNTED))
def test_counts_are_the_least_on_any_path() -> None:
    compared = 0
    for seed in COUNTED:
        program = random_program(seed, queues=3)
        expected = least_groups_since(program, MOST_PATHS)
        if expected is None:
            continue
        plan = plan_lowering(parse(program.text()), CpAsync())
        assert plan is not None
        found = {op.attributes["site"].value.data: count for op, count in plan.waits.items() if "site" in op.attributes}
        for site, count in expected.items():
            assert found[site] == count, f"seed {seed}, site {site}\n{program.text()}"
            compared += 1
    assert compared > 30


@corpus(len(JUDGED))
def test_one_group_more_is_a_race_where_a_wait_stands_alone() -> None:
    compared = sum(races_with_one_group_more(seed) for seed in JUDGED)
    assert compared > 8


def races_with_one_group_more(seed: int) -> int:
    """Judge every wait of a random program alone, on a path that attains its count; returns how many there were."""
    program = random_program(seed, least_copies=1)
    expected = least_groups_since(program, MOST_PATHS) or {}
    counted = [
        (wait, expected[wait.site]) for wait in waits_in(program.statements) if expected.get(wait.site) is not None
    ]
    for wait, count in counted:
        module, _ = converted(program.text(only=wait.site), "{barriers=false}")
        first = next(op for op in module.walk() if isinstance(op, CpAsyncWaitGroupOp))
        assert first.n.value.data == count
        attaining = next(
            path
            for path in program.paths(MOST_PATHS)
            if any(v.site == wait.site and v.groups_since(wait.queue, wait.count) == count for v in path.visits)
        )
        assert check(module, "f", args={"bits": attaining.bits}).kinds == []
        first.properties["n"] = CpAsyncWaitGroupOp(count + 1).n
        assert check(module, "f", args={"bits": attaining.bits}).kinds == ["race"]
    return len(counted)


# By hand --------------------------------------------------------------------------------------------------------------

ROW = "memref<8xf32>"
SHARED = "memref<64xf32, 3>"


def function(body: str, arguments: str = f"%a: {ROW}, %s: {SHARED}, %p: i1, %n: index") -> str:
    constants = "".join(f"%c{n} = arith.constant {n} : index\n" for n in range(6))
    return f"func.func @f({arguments}) {{\n{constants}{body}\nfunc.return\n}}\n"


def commit(queue: int | str, cell: int, row: int = 0) -> str:
    return f"""async_queue.commit {queue} {{
      async_queue.scope {{
        %v{cell} = memref.load %a[%c{row}] : {ROW}
        memref.store %v{cell}, %s[%c{cell}] : {SHARED}
      }}
    }}
    """


def test_queues_share_one_sequence_of_groups() -> None:
    module, said = converted(function(commit(0, 0) + commit(1, 1) + commit(1, 2) + "async_queue.wait 0, 0"))
    assert counts_in(module) == [2]
    assert said == []


def test_a_wait_that_cannot_block_goes() -> None:
    waits = "async_queue.wait 0, 1\nasync_queue.wait 1, 0\nasync_queue.wait 0, 0"
    module, _ = converted(function(commit(0, 0) + waits))
    assert counts_in(module) == [0]


def test_nested_commits_close_the_inner_group_first() -> None:
    inner = "async_queue.commit 0 {\n" + commit(1, 0) + "}\n"
    module, _ = converted(function(inner + "async_queue.wait 1, 0\nasync_queue.wait 0, 0"))
    assert counts_in(module) == [1, 0]


DRAIN = """scf.for %e = %c0 to %c3 step %c1 {
      %left = arith.subi %c3, %e : index
      async_queue.wait 0, %left
    }
    async_queue.wait 0, 0"""


def test_a_computed_count_becomes_the_largest_constant_that_is_safe() -> None:
    text = function("".join(commit(0, cell) for cell in range(5)) + DRAIN)
    module, said = converted(text, "{peel=false}")
    assert counts_in(module) == [1, 0]
    assert [remark.message for remark in said] == [
        "its count is computed and may be as low as 1: the largest constant that is safe is 1"
    ]
    assert said[0].way_out == "unroll the loops that the numbers come from, so that they are constants"


# Peeling --------------------------------------------------------------------------------------------------------------


def test_turns_with_counts_of_their_own_are_peeled() -> None:
    module, said = converted(function("".join(commit(0, cell) for cell in range(5)) + DRAIN))
    assert counts_in(module) == [3, 2, 1, 0]
    assert [remark.message for remark in said] == [
        "has a wait whose count is computed: its first 2 turns run in front of it, so that counts are constants"
    ]


def filling_ring(lower: int, step: int, trips: int | str, ahead: int) -> str:
    """A ring that fills for `ahead` turns; all turns share one wait, which leaves fewer groups while it does."""
    return f"""
    func.func @f(%src: memref<64xf32>, %out: memref<64xf32>, %n: index) -> f32 {{
      %c0 = arith.constant 0 : index
      %lower = arith.constant {lower} : index
      %step = arith.constant {step} : index
      %upper = {f"arith.constant {lower + trips * step}" if isinstance(trips, int) else "arith.muli %n, %step"} : index
      %ahead = arith.constant {ahead} : index
      %slots = arith.constant {ahead + 1} : index
      %zero = arith.constant 0.0 : f32
      %ring = memref.alloc() : memref<{ahead + 1}xf32, 3>
      %sum = scf.for %i = %lower to %upper step %step iter_args(%acc = %zero) -> (f32) {{
        %o = arith.subi %i, %lower : index
        %j = arith.divui %o, %step : index
        %slot = arith.remui %j, %slots : index
        async_queue.commit 0 {{
          async_queue.scope {{
            %x = memref.load %src[%j] : memref<64xf32>
            memref.store %x, %ring[%slot] : memref<{ahead + 1}xf32, 3>
          }}
        }}
        %count = arith.minui %j, %ahead : index
        %oldest = arith.subi %j, %count : index
        %place = arith.remui %oldest, %slots : index
        %next = async_queue_READ
        scf.yield %next : f32
      }}
      async_queue.wait 0, 0
      func.return %sum : f32
    }}""".replace(
        "%next = async_queue_READ",
        f"""async_queue.wait 0, %count
        %y = memref.load %ring[%place] : memref<{ahead + 1}xf32, 3>
        memref.store %y, %out[%j] : memref<64xf32>
        %next = arith.addf %acc, %y : f32""",
    )


@pytest.mark.parametrize("ahead", [1, 2, 4])
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize(("lower", "step"), [(0, 1), (5, 3)])
def test_a_ring_that_fills_gets_its_exact_counts(lower: int, step: int, trips: int, ahead: int) -> None:
    """The numbers stay, and each turn leaves as many groups as its own count says."""
    text = filling_ring(lower, step, trips, ahead)
    module, said = converted(text)
    sets = [{"src": np.arange(1, 65, dtype=np.float32), "out": np.zeros(64, np.float32), "n": 0}]
    assert_same_meaning(parse(text), module, "f", sets, orders=("lazy", "random:1"))
    peeled = [min(turn, ahead) for turn in range(max(min(trips - 1, ahead), 0))]
    if trips:
        assert counts_in(module) == [*peeled, min(trips - 1, ahead), 0]
    assert len(said) == (1 if peeled else 0)


def test_a_loop_of_unknown_bounds_is_not_peeled() -> None:
    module, said = converted(filling_ring(0, 1, "n", 2))
    assert counts_in(module) == [0, 0]
    assert "its count is computed and may be as low as 0" in said[0].message


def test_a_deep_window_is_not_peeled() -> None:
    """Code grows with each turn."""
    module, said = converted(filling_ring(0, 1, 40, 20))
    assert counts_in(module) == [0, 0]
    assert len(said) == 1


def test_a_refusal_leaves_a_loop_that_would_be_peeled() -> None:
    text = filling_ring(0, 1, 9, 2).replace("func.return %sum", "THREAD\nfunc.return %sum")
    thread = """async.execute {
        async_queue.wait 0, 0
        async.yield
      }"""
    module = parse(text.replace("THREAD", f"%t = {thread}"))
    with recorded_diagnostics() as said, pytest.raises(RefusedError):
        run_passes(module, PASS)
    assert print_custom(module) == print_custom(parse(text.replace("THREAD", f"%t = {thread}")))
    assert said == []


def test_a_count_of_which_nothing_is_known_is_zero() -> None:
    module, _ = converted(function(commit(0, 0) + commit(1, 1) + "async_queue.wait 0, %n\nasync_queue.wait 1, 0"))
    assert counts_in(module) == [1, 0]


def test_computed_queues_are_taken_for_every_queue() -> None:
    body = commit(0, 0) + commit("%n", 1) + commit(1, 2) + "async_queue.wait %n, 0\nasync_queue.wait 0, 0\n"
    module, said = converted(function(body + "async_queue.wait 1, 0"))
    assert counts_in(module) == [0, 1, 0]
    assert "its queue is computed, so it waits for every queue that it may name" in said[0].message


def test_groups_that_were_there_before_count_and_their_waits_are_retaken() -> None:
    own = "nvvm.cp.async.commit.group\n"
    module, _ = converted(
        function(commit(0, 0) + own + commit(0, 1) + "nvvm.cp.async.wait.group 0\nasync_queue.wait 0, 0")
    )
    assert counts_in(module) == [1, 0]


def test_queues_reach_through_calls() -> None:
    helper = f"func.func private @more(%a: {ROW}, %s: {SHARED}) {{\n%c0 = arith.constant 0 : index\n"
    helper += "%c1 = arith.constant 1 : index\n" + commit(1, 1) + "async_queue.wait 0, 0\nfunc.return\n}\n"
    call = f"func.call @more(%a, %s) : ({ROW}, {SHARED}) -> ()\n"
    text = helper + function(commit(0, 0) + call + "async_queue.wait 1, 0")
    module, _ = converted(text)
    assert counts_in(module) == [1, 0]
    assert_same_meaning(parse(text), module, "f", [{"p": 0, "n": 0}])


def test_modules_without_queues_are_left_alone() -> None:
    text = "func.func @f() {\nnvvm.cp.async.commit.group\nnvvm.cp.async.wait.group 7\nfunc.return\n}"
    module, _ = converted(text)
    assert print_custom(module) == print_custom(parse(text))


# Copies ---------------------------------------------------------------------------------------------------------------


def scope(body: str) -> str:
    return f"async_queue.commit 0 {{\nasync_queue.scope {{\n{body}\n}}\n}}\nasync_queue.wait 0, 0"


def one_copy(element: str, kind: str = "") -> str:
    """A copy of one element, or of a vector of type `kind`."""
    load, of = ("vector.load", f", {kind}") if kind else ("memref.load", "")
    store, stored = ("vector.store", f", {kind}") if kind else ("memref.store", "")
    types = f"%a: memref<64x{element}>, %s: memref<64x{element}, 3>, %o: memref<64x{element}>"
    body = scope(
        f"%v = {load} %a[%c4] : memref<64x{element}>{of}\n{store} %v, %s[%c0] : memref<64x{element}, 3>{stored}"
    )
    back = f"\n%w = {load} %s[%c0] : memref<64x{element}, 3>{of}\n{store} %w, %o[%c0] : memref<64x{element}>{stored}"
    return function(body + back, types)


@pytest.mark.parametrize(
    ("element", "kind", "size"),
    [
        ("f32", "", 4),
        ("i32", "", 4),
        ("f64", "", 8),
        ("f32", "vector<2xf32>", 8),
        ("f32", "vector<4xf32>", 16),
        ("i64", "vector<2xi64>", 16),
        ("f16", "vector<4xf16>", 8),
        ("i8", "vector<4xi8>", 4),
    ],
)
def test_widths(element: str, kind: str, size: int) -> None:
    text = one_copy(element, kind)
    module, said = converted(text)
    assert (copies_in(module), said) == ([size], [])
    assert_same_meaning(parse(text), module, "f", [{}])


@pytest.mark.parametrize(
    ("element", "kind"), [("f16", ""), ("i8", ""), ("f32", "vector<3xf32>"), ("f32", "vector<8xf32>")]
)
def test_other_widths_stay_ordinary_stores(element: str, kind: str) -> None:
    text = one_copy(element, kind)
    module, said = converted(text)
    assert copies_in(module) == []
    assert re.search(r"stays an ordinary store: it has \d+ bytes, and cp.async copies 4, 8 or 16", said[0].message)
    assert_same_meaning(parse(text), module, "f", [{}])


BOTH = f"%a: {ROW}, %s: {SHARED}, %p: i1, %n: index, %t: {SHARED}"
ZERO = "%zero = arith.constant 0.0 : f32\n"

ORDINARY: list[tuple[str, str]] = [
    (
        f"%v = memref.load %a[%c0] : {ROW}\n%w = arith.addf %v, %v : f32\nmemref.store %w, %s[%c0] : {SHARED}",
        "it stores no plain load, and no load that is zero where a condition is false",
    ),
    (
        f"%v = memref.load %t[%c0] : {SHARED}\nmemref.store %v, %s[%c0] : {SHARED}",
        "what it stores is not loaded from global memory",
    ),
    (
        f"%v = memref.load %a[%c0] : {ROW}\nmemref.store %v, %a[%c1] : {ROW}",
        "it does not write shared memory (address space 3)",
    ),
    (
        f"%v = memref.load %a[%c0] : {ROW}\nmemref.store %v, %s[%c0] : {SHARED}\nmemref.store %v, %s[%c1] : {SHARED}",
        "what it stores is used elsewhere as well",
    ),
    (
        f"%v = memref.load %a[%c0] : {ROW}\n%z = memref.load %a[%c1] : {ROW}\nmemref.store %z, %a[%c0] : {ROW}\n"
        f"memref.store %v, %s[%c0] : {SHARED}",
        "something may be written between the load and the store",
    ),
    (
        f"%v = memref.load %a[%c0] : {ROW}\nmemref.store %v, %s[%c0] : {SHARED}\n"
        f"%w = memref.load %s[%c0] : {SHARED}\nmemref.store %w, %s[%c1] : {SHARED}",
        "its scope also has a 'memref.load' where a copy writes",
    ),
    (
        f"%v = memref.load %a[%c0] : {ROW}\nmemref.store %v, %s[%c0] : {SHARED}\n"
        f"%w = arith.constant 1.0 : f32\nmemref.store %w, %a[%c1] : {ROW}",
        "its scope also has a 'memref.store' where a copy reads",
    ),
    (
        "scf.for %i = %c0 to %c2 step %c1 {\n"
        f"%v = memref.load %a[%i] : {ROW}\nmemref.store %v, %s[%c0] : {SHARED}\n}}",
        "its scope copies to one place twice",
    ),
    (
        f"scf.for %i = %c0 to %n step %c1 {{\n%v = memref.load %a[%i] : {ROW}\nmemref.store %v, %s[%i] : {SHARED}\n}}",
        "it is not known that the copies of its scope go to different places",
    ),
    (
        f"{ZERO}%m = arith.negf %zero : f32\n%v = memref.load %a[%c0] : {ROW}\n%w = arith.select %p, %v, %m : f32\n"
        f"memref.store %w, %s[%c0] : {SHARED}",
        "it stores no plain load, and no load that is zero where a condition is false",
    ),
    (
        f"%minus = arith.constant -0.0 : f32\n%v = memref.load %a[%c0] : {ROW}\n"
        f"%w = arith.select %p, %v, %minus : f32\nmemref.store %w, %s[%c0] : {SHARED}",
        "it stores no plain load, and no load that is zero where a condition is false",
    ),
    (
        f"%v = vector.load %a[%c1] : {ROW}, vector<4xf32>\nvector.store %v, %s[%c0] : {SHARED}, vector<4xf32>",
        "its source is only known to be aligned to 4 of 16 bytes",
    ),
    (
        f"%v = vector.load %a[%c4] : {ROW}, vector<4xf32>\nvector.store %v, %s[%n] : {SHARED}, vector<4xf32>",
        "its destination is only known to be aligned to 4 of 16 bytes",
    ),
]


@pytest.mark.parametrize(("body", "reason"), ORDINARY)
def test_what_is_no_copy_stays_an_ordinary_store(body: str, reason: str) -> None:
    text = function(scope(body), BOTH)
    module, said = converted(text)
    assert copies_in(module) == []
    assert f"stays an ordinary store: {reason}" in [remark.message for remark in said]
    assert_same_meaning(parse(text), module, "f", [{"p": 1, "n": 2}])


def test_a_loop_of_more_turns_than_python_counts() -> None:
    body = f"""
    %least = arith.constant -9223372036854775808 : index
    scf.for %i = %least to %c2 step %c1 {{
      %v = memref.load %a[%i] : {ROW}
      memref.store %v, %s[%i] : {SHARED}
    }}"""
    module, said = converted(function(scope(body), BOTH))
    assert copies_in(module) == []
    assert "it is not known that the copies of its scope go to different places" in said[0].message


def test_copies_to_different_places_of_one_buffer() -> None:
    rows = "memref<2x8xf32>", "memref<4x8xf32, 3>"
    body = f"""%slot = arith.remui %n, %c2 : index
    scf.for %i = %c0 to %c2 step %c1 {{
      scf.for %j = %c0 to %c4 step %c1 {{
        %column = arith.muli %j, %c2 : index
        %v = memref.load %a[%i, %column] : {rows[0]}
        memref.store %v, %s[%slot, %column] : {rows[1]}
        %next = arith.addi %column, %c1 : index
        %w = memref.load %a[%i, %next] : {rows[0]}
        memref.store %w, %s[%slot, %next] : {rows[1]}
      }}
    }}"""
    text = function(scope(body), f"%a: {rows[0]}, %s: {rows[1]}, %n: index")
    assert copies_in(converted(text)[0]) == [], "the rows collide: %i is not in the place"
    module, said = converted(text.replace("%s[%slot, ", "%s[%i, "))
    assert ([remark.message for remark in said], copies_in(module)) == ([], [4, 4])


def test_vectors_in_a_loop_are_aligned_by_its_step() -> None:
    body = """scf.for %j = %c0 to %c5 step %c4 {
      %v = vector.load %a[%j] : memref<8xf32>, vector<4xf32>
      vector.store %v, %s[%j] : memref<64xf32, 3>, vector<4xf32>
    }"""
    assert copies_in(converted(function(scope(body)))[0]) == [16]
    assert copies_in(converted(function(scope(body.replace("%c0 to", "%c2 to"))))[0]) == []


ZERO_FILLED = f"""{ZERO}%inside = arith.cmpi ult, %n, %c4 : index
    %v = scf.if %inside -> (f32) {{
      %j = arith.addi %n, %c1 : index
      %x = memref.load %a[%j] : {ROW}
      scf.yield %x : f32
    }} else {{
      scf.yield %zero : f32
    }}
    memref.store %v, %s[%c0] : {SHARED}"""


@pytest.mark.parametrize(
    "body",
    [
        ZERO_FILLED,
        f"{ZERO}%v = memref.load %a[%c0] : {ROW}\n%w = arith.select %p, %v, %zero : f32\n"
        f"memref.store %w, %s[%c0] : {SHARED}",
    ],
)
def test_copies_under_a_condition_fill_with_zeros(body: str) -> None:
    read_back = f"\n%back = memref.load %s[%c0] : {SHARED}\nmemref.store %back, %a[%c0] : {ROW}"
    text = function(scope(body) + read_back)
    module, said = converted(text)
    assert (copies_in(module), said) == ([4], [])
    full = {"a": np.full(8, 7, np.float32), "s": np.full(64, 3, np.float32)}
    assert_same_meaning(parse(text), module, "f", [full | {"p": p, "n": n} for p in (0, 1) for n in (0, 3, 4, 60)])


def test_views_with_run_time_offsets_and_strides() -> None:
    source, target = "memref<?x?xf32, strided<[?, ?], offset: ?>>", "memref<4xf32, strided<[2], offset: ?>, 3>"
    text = f"""
    func.func @f(%a: memref<8x8xf32>, %s: memref<32xf32, 3>, %i: index, %o: memref<4xf32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %rows = memref.subview %a[%i, %c1] [%c4, %c2] [%c1, %c2] : memref<8x8xf32> to {source}
      %slot = memref.subview %s[%i] [4] [2] : memref<32xf32, 3> to {target}
      async_queue.commit 0 {{
        async_queue.scope {{
          scf.for %j = %c0 to %c4 step %c1 {{
            %v = memref.load %rows[%j, %c1] : {source}
            memref.store %v, %slot[%j] : {target}
          }}
        }}
      }}
      async_queue.wait 0, 0
      scf.for %j = %c0 to %c4 step %c1 {{
        %v = memref.load %slot[%j] : {target}
        memref.store %v, %o[%j] : memref<4xf32>
      }}
      func.return
    }}"""
    module, said = converted(text)
    assert (copies_in(module), said) == ([4], [])
    numbers = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert_same_meaning(parse(text), module, "f", [{"a": numbers, "i": i} for i in (0, 1, 4)])
    ptx_of(module)


# Barriers and shared memory -------------------------------------------------------------------------------------------


def shape_of(module: ModuleOp) -> list[str]:
    """The synchronising ops in program order, without the common part of their names."""
    return [op.name.removeprefix("nvvm.") for op in module.walk() if op.name.startswith("nvvm.")]


def test_barriers_after_waits_and_before_buffers_are_overwritten() -> None:
    use = f"async_queue.wait 0, 0 {{\n%x = memref.load %s[%c0] : {SHARED}\nmemref.store %x, %a[%c1] : {ROW}\n}}\n"
    module, _ = converted(function(commit(0, 0) + use + commit(0, 1) + commit(0, 2) + "async_queue.wait 0, 0"))
    copy = ["cp.async.shared.global", "cp.async.commit.group"]
    wait = ["cp.async.wait.group", "barrier0"]
    assert shape_of(module) == [*copy, *wait, "barrier0", *copy, *copy, *wait]


def test_waits_in_a_row_need_one_barrier() -> None:
    waits = "async_queue.wait 1, 0 {\nasync_queue.wait 0, 0\n}"
    module, _ = converted(function(commit(0, 0) + commit(1, 1) + commit(0, 2) + waits))
    assert shape_of(module)[-3:] == ["cp.async.wait.group", "cp.async.wait.group", "barrier0"]


def test_no_barriers_where_none_are_asked_for() -> None:
    module, _ = converted(function(commit(0, 0) + "async_queue.wait 0, 0"), "{barriers=false}")
    assert "barrier0" not in shape_of(module)


DIVERGENT = f"""
func.func @f(%a: {ROW}, %s: {SHARED}) {{
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %thread = arith.index_cast %tid : i32 to index
  %first = arith.cmpi ult, %thread, %c3 : index
  scf.if %first {{
    {commit(0, 0)}
    async_queue.wait 0, 0
  }}
  func.return
}}"""


def test_buffers_in_shared_memory_become_globals() -> None:
    text = function(
        f"%b = memref.alloc() : {SHARED}\n" + commit(0, 0).replace("%s", "%b") + f"async_queue.wait 0, 0\n"
        f"memref.dealloc %b : {SHARED}\n%big = memref.alloc(%n) : memref<?xf32, 3>"
    )
    module, _ = converted(text)
    printed = print_custom(module)
    assert 'sym_name = "b", type = memref<64xf32, 3 : i64>' in printed
    assert "memref.dealloc" not in printed
    assert printed.count("memref.alloc(") == 1, "one of run-time size stays"
    assert "memref.global" not in print_custom(converted(text, "{static-shared=false}")[0])


# Refusals -------------------------------------------------------------------------------------------------------------

CALLED_BY_SOME = DIVERGENT.replace(commit(0, 0), "").replace("async_queue.wait 0, 0", "func.call @all() : () -> ()")
CALLED_BY_SOME += "func.func private @all() {\nasync_queue.commit 0\nasync_queue.wait 0, 0\nfunc.return\n}"

ASKED_BY_ARGUMENT = """
func.func private @part(%thread: index) {
  %c3 = arith.constant 3 : index
  %first = arith.cmpi ult, %thread, %c3 : index
  async_queue.commit 0
  scf.if %first {
    async_queue.wait 0, 0
  }
  func.return
}
func.func @f() {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %thread = arith.index_cast %tid : i32 to index
  func.call @part(%thread) : (index) -> ()
  func.return
}"""

IN_A_GRAPH = """
func.func @f() {
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %c3 = arith.constant 3 : i32
  %first = arith.cmpi ult, %tid, %c3 : i32
  async_queue.commit 0
  cf.cond_br %first, ^some, ^end
^some:
  async_queue.wait 0, 0
  cf.br ^end
^end:
  func.return
}"""

REFUSED: list[tuple[str, str]] = [
    (CALLED_BY_SOME, r"needs a barrier of all threads, and the 'scf.if' around it depends on the number of the thread"),
    (ASKED_BY_ARGUMENT, r"needs a barrier of all threads, and the 'scf.if' around it"),
    (IN_A_GRAPH, r"needs a barrier of all threads, and the 'cf.cond_br' around it"),
    (DIVERGENT, r"needs a barrier of all threads, and the 'scf.if' around it depends on the number of the thread"),
    (
        function("%t = async.execute {\n" + commit(0, 0) + "async.yield\n}"),
        r"'async_queue.commit' op stands in an 'async.execute', which another thread runs",
    ),
    (
        function(
            "scf.for %i = %c0 to %n step %c1 {\nasync_queue.block {\n}\n} {software_pipeline_stage = array<i64: 0>, "
            "software_pipeline_order = array<i64: 0>}"
        ),
        r"'scf.for' op is still to be pipelined, and its stages would be lost",
    ),
    ("async_queue.wait 0, 0", r"'async_queue.wait' op stands in no function"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_refusals_leave_the_module_as_it_was(text: str, reason: str) -> None:
    module = parse(text)
    before = print_generic(module)
    with pytest.raises(RefusedError, match=reason):
        run_passes(module, PASS)
    assert print_generic(module) == before


THREAD_NUMBERS = [
    '%t = "nvvm.read.ptx.sreg.laneid"() : () -> i32',
    '%t = "nvvm.read.ptx.sreg.warpid"() : () -> i32',
    '%t = "nvvm.read.ptx.sreg.tid.z"() : () -> i32',
    '%t = "nvvm.read.ptx.sreg.lanemask.lt"() : () -> i32',
    '%t = "nvvm.read.ptx.sreg.clock"() : () -> i32',
    '%t = "rocdl.workitem.id.x"() : () -> i32',
    '%x = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index\n%t = arith.index_cast %x : index to i32',
    '%x = "gpu.lane_id"() : () -> index\n%t = arith.index_cast %x : index to i32',
    "%x = nvvm.elect.sync -> i1\n%t = arith.extui %x : i1 to i32",
    # What a loop hands over differs where its body yields it, though neither its bounds nor its first value do.
    """%x = "nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %t = scf.for %k = %c3 to %c3 step %c3 iter_args(%y = %c3) -> (i32) : i32 {
      scf.yield %x : i32
    }""",
]


def branch_on(number: str) -> str:
    return f"""func.func @f() {{
      %c3 = arith.constant 3 : i32
      {number}
      %first = arith.cmpi ult, %t, %c3 : i32
      async_queue.commit 0
      scf.if %first {{
        async_queue.wait 0, 0
      }}
      func.return
    }}"""


@pytest.mark.parametrize("number", THREAD_NUMBERS)
def test_threads_part_by_whatever_tells_them_apart(number: str) -> None:
    module = parse(branch_on(number), allow_unregistered=True)
    with pytest.raises(RefusedError, match="depends on the number of the thread"):
        run_passes(module, PASS)


@pytest.mark.parametrize("register", ["ctaid.x", "ntid.x", "warpsize", "nwarpid"])
def test_threads_do_not_part_by_what_their_block_shares(register: str) -> None:
    module, _ = converted(branch_on(f'%t = "nvvm.read.ptx.sreg.{register}"() : () -> i32'))
    assert "barrier0" in shape_of(module)


# PTX ------------------------------------------------------------------------------------------------------------------


def test_mlir_prints_the_copies_unquoted() -> None:
    module, _ = converted((ROOT / "examples" / "cp_async_ring.mlir").read_text())
    text = mlir_opt(print_generic(module), "--allow-unregistered-dialect")
    assert '"nvvm.' not in text
    for op in (
        "nvvm.cp.async.shared.global",
        "nvvm.cp.async.commit.group",
        "nvvm.cp.async.wait.group 2",
        "nvvm.barrier0",
    ):
        assert op in text


def test_a_ring_of_copies_becomes_ptx_with_its_counts() -> None:
    module, _ = converted((ROOT / "examples" / "cp_async_ring.mlir").read_text())
    ptx = ptx_of(module)
    scale, double = ptx.split("// -- End function")[:2]
    for text, count in ((scale, 2), (double, 1)):
        assert "cp.async.ca.shared.global" in text
        assert "cp.async.commit_group" in text
        assert re.findall(r"cp\.async\.wait_group\s+(\d+)", text) == [str(count)]
        assert "bar.sync" in text or "barrier.sync" in text
    assert ".shared .align 16 .b8 ring[96]" in ptx


def test_two_queues_and_all_widths_become_ptx() -> None:
    text = """
    func.func @f(%a: memref<64xf32>, %b: memref<64xf64>, %i: index, %out: memref<64xf32>) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %s = memref.alloc() : memref<64xf32, 3>
      %t = memref.alloc() : memref<64xf64, 3>
      %inside = arith.cmpi ult, %i, %c4 : index
      async_queue.commit 0 {
        async_queue.scope {
          %v = vector.load %a[%c4] : memref<64xf32>, vector<4xf32>
          vector.store %v, %s[%c0] : memref<64xf32, 3>, vector<4xf32>
        }
      }
      async_queue.commit 1 {
        async_queue.scope {
          %v = memref.load %b[%i] : memref<64xf64>
          memref.store %v, %t[%i] : memref<64xf64, 3>
        }
      }
      async_queue.commit 1 {
        async_queue.scope {
          %v = scf.if %inside -> (f32) {
            %x = memref.load %a[%i] : memref<64xf32>
            scf.yield %x : f32
          } else {
            scf.yield %zero : f32
          }
          memref.store %v, %s[%c4] : memref<64xf32, 3>
        }
      }
      async_queue.wait 0, 0 {
        %x = memref.load %s[%c0] : memref<64xf32, 3>
        memref.store %x, %out[%c0] : memref<64xf32>
      }
      async_queue.wait 1, 0 {
        %x = memref.load %s[%c4] : memref<64xf32, 3>
        memref.store %x, %out[%c4] : memref<64xf32>
      }
      func.return
    }"""
    module, said = converted(text)
    assert said == []
    assert_same_meaning(parse(text), module, "f", [{"i": i} for i in (1, 3, 7)])
    ptx = ptx_of(module)
    assert re.search(r"cp\.async\.cg\.shared\.global .*, 16;", ptx)
    assert re.search(r"cp\.async\.ca\.shared\.global .*, 8;", ptx)
    assert re.search(r"cp\.async\.ca\.shared\.global .*, 4, %r\d+;", ptx)
    assert re.findall(r"cp\.async\.wait_group\s+(\d+)", ptx) == ["2", "0"]


# Tiles ----------------------------------------------------------------------------------------------------------------

FLAT = "memref<4x8xf32>"
TILES: list[tuple[str, str, str, list[int]]] = [
    ("rows of two pieces", "memref<4x8xf32>", "memref<4x8xf32, 3>", [16]),
    ("one piece", "memref<1x4xf32>", "memref<1x4xf32, 3>", [16]),
    ("rows that are not multiples of 16 bytes", "memref<4x6xf32>", "memref<4x6xf32, 3>", [8]),
    ("odd rows", "memref<4x3xf32>", "memref<4x3xf32, 3>", [4]),
    ("rows far apart", "memref<4x8xf32, strided<[12, 1]>>", "memref<4x8xf32, 3>", [16]),
    ("rows oddly far apart", "memref<4x8xf32, strided<[9, 1]>>", "memref<4x8xf32, 3>", [4]),
    ("columns", "memref<4x8xf32, strided<[1, 8]>>", "memref<4x8xf32, 3>", [4]),
    ("an offset", "memref<4x8xf32, strided<[8, 1], offset: 2>>", "memref<4x8xf32, 3>", [8]),
    ("run-time strides", "memref<4x8xf32, strided<[?, 1], offset: ?>>", "memref<4x8xf32, 3>", [4]),
    ("halves", "memref<4x8xf16>", "memref<4x8xf16, 3>", [16]),
    ("bytes", "memref<4x4xi8>", "memref<4x4xi8, 3>", [4]),
    ("a single element", "memref<f32>", "memref<f32, 3>", [4]),
    ("three dimensions", "memref<2x2x8xf32>", "memref<2x2x8xf32, 3>", [16]),
]


def tile(source: str, target: str) -> str:
    """A copy of a tile, and on to where it can be seen. A tile with strides is part of a larger buffer."""
    seen = re.sub(r", \d>", ">", target)
    given, view = source, ""
    if "strided" in source:
        given = "memref<128xf32>"
        strides = source.partition("[")[2].partition("]")[0].replace("?", "%n")
        offset = "%n" if "?" in source else 2 * ("offset" in source)
        window = f"offset: [{offset}], sizes: [4, 8], strides: [{strides}]"
        view = f"%a = memref.reinterpret_cast %whole to {window} : {given} to {source}\n"
    return f"""func.func @f(%{"whole" if view else "a"}: {given}, %s: {target}, %o: {seen}) {{
      %n = arith.constant 9 : index
      {view}async_queue.commit 0 {{
        async_queue.scope {{
          "memref.copy"(%a, %s) : ({source}, {target}) -> ()
        }}
      }}
      async_queue.wait 0, 0 {{
        "memref.copy"(%s, %o) : ({target}, {seen}) -> ()
      }}
      func.return
    }}"""


@pytest.mark.parametrize(("source", "target", "sizes"), [row[1:] for row in TILES], ids=[row[0] for row in TILES])
def test_tiles_are_copied_in_pieces_as_wide_as_can_be(source: str, target: str, sizes: list[int]) -> None:
    text = tile(source, target)
    module, said = converted(text)
    assert ([remark.message for remark in said], copies_in(module)) == ([], sizes)
    assert_same_meaning(parse(text), module, "f", [{}], orders=("lazy", "random:1"))


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("memref<4x3xf16>", "memref<4x3xf16, 3>", "it has 2 bytes, and cp.async copies 4, 8 or 16"),
        ("memref<4x?xf32>", "memref<4x?xf32, 3>", "its shape is only known at run time"),
        ("memref<4x8xf32, 3>", "memref<4x8xf32, 3>", "it does not read global memory"),
        ("memref<4x8xf32>", "memref<4x8xf32, 5>", "it does not write shared memory (address space 3)"),
    ],
)
def test_other_tiles_stay_ordinary_copies(source: str, target: str, reason: str) -> None:
    module, said = converted(tile(source, target))
    assert copies_in(module) == []
    assert [remark.message for remark in said] == [f"stays an ordinary copy: {reason}"]


def test_two_tiles_to_one_place_keep_their_order() -> None:
    body = "\n".join(f'"memref.copy"(%{source}, %t) : ({FLAT}, memref<4x8xf32, 3>) -> ()' for source in "ab")
    kinds = f"%a: {FLAT}, %b: {FLAT}, %t: memref<4x8xf32, 3>, %u: memref<4x8xf32, 3>"
    module, said = converted(function(scope(body), kinds))
    assert copies_in(module) == []
    assert said[0].message == "stays an ordinary copy: its scope copies to one place twice"
    assert copies_in(converted(function(scope(body.replace("(%b, %t)", "(%b, %u)")), kinds))[0]) == [16, 16]


def test_a_slot_of_a_ring_is_a_view() -> None:
    view = "memref<8xf32, strided<[1], offset: ?>, 3>"
    row = "memref<8xf32, strided<[1], offset: ?>>"
    text = f"""func.func @f(%a: memref<16x8xf32>, %out: memref<16x8xf32>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %ring = memref.alloc() : memref<2x8xf32, 3>
      scf.for %i = %c0 to %n step %c1 {{
        %k = arith.remui %i, %c2 : index
        %slot = memref.subview %ring[%k, 0] [1, 8] [1, 1] : memref<2x8xf32, 3> to {view}
        %from = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<16x8xf32> to {row}
        %to = memref.subview %out[%i, 0] [1, 8] [1, 1] : memref<16x8xf32> to {row}
        async_queue.commit 0 {{
          async_queue.scope {{
            "memref.copy"(%from, %slot) : ({row}, {view}) -> ()
          }}
        }}
        async_queue.wait 0, 0 {{
          "memref.copy"(%slot, %to) : ({view}, {row}) -> ()
        }}
      }}
      func.return
    }}"""
    module, said = converted(text)
    assert (copies_in(module), said) == ([16], [])
    assert_same_meaning(parse(text), module, "f", [{"n": n} for n in (0, 1, 5)], orders=("lazy", "random:1"))
    assert re.search(r"cp\.async\.cg\.shared\.global .*, 16;", ptx_of(module))
