"""
Device tokens to counts: exact where MLIR's lowering drains, never smaller, safe, and with the right numbers.

The program before and the program after both run on the machine; so does what mlir-opt makes of the same program.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.corpora import corpus, each, sample
from tests.support.counts import assert_same_verdict_and_numbers, kinds_of
from tests.support.device_token_programs import device_program, lowered_by_mlir
from tests.support.ir import parse, print_custom, print_generic, run_passes
from tests.support.meaning import run_in_order, same_bits
from tests.support.mlir import mlir_opt
from tests.support.queue_exactness import slack_waits, waits_in
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, recorded_diagnostics

CORPUS = range(0, 48, 8)
"""The first of every eight programs."""

RINGS = sample(range(60), 12)
PASS = "convert-nvgpu-to-queue"
TOKEN = "!nvgpu.device.async.token"


def ring_program(ahead: int, per_iteration: int, *, partial: bool = False) -> str:
    """
    Rows of `%src` go through a ring `ahead` iterations ahead, in `per_iteration` groups each, of which the first is
    waited for; `partial` reads two of four elements and fills with zeros.
    """
    slots = ahead + 1
    lines = [f"%c{n} = arith.constant {n} : index" for n in range(8)]
    rest = ", %c2" if partial else ""

    def group(name: str, row: str, slot: str, part: int) -> None:
        ring = f"%ring{part}"
        copy = f"nvgpu.device_async_copy %src[{row}, %c0], {ring}[{slot}, %c0], 4{rest}"
        lines.append(f"{name}c = {copy} : memref<64x4xf32> to memref<{slots}x4xf32, 3>")
        lines.append(f"{name} = nvgpu.device_async_create_group {name}c")

    for part in range(per_iteration):
        lines.append(f"%ring{part} = memref.alloc() : memref<{slots}x4xf32, 3>")
    for step in range(ahead):
        for part in range(per_iteration):
            group(f"%p{step}_{part}", f"%c{step}", f"%c{step}", part)
    names = [f"{step}_{part}" for step in range(ahead) for part in range(per_iteration)]
    inits = ", ".join(f"%a{name} = %p{name}" for name in names)
    types = ", ".join([TOKEN] * len(names))
    lines.append(f"%r:{len(names)} = scf.for %i = %c0 to %n step %c1 iter_args({inits}) -> ({types}) {{")
    lines += [f"%j = arith.addi %i, %c{ahead} : index", f"%size = arith.constant {slots} : index"]
    lines += ["%s = arith.remui %j, %size : index", "%h = arith.remui %i, %size : index"]
    for part in range(per_iteration):
        group(f"%g{part}", "%j", "%s", part)
    for part in range(per_iteration):
        lines.append(f"nvgpu.device_async_wait %a0_{part}")
        lines.append(f"%v{part} = memref.load %ring{part}[%h, %c{part + 1}] : memref<{slots}x4xf32, 3>")
        lines.append(f"memref.store %v{part}, %out[%i, %c{part}] : memref<64x4xf32>")
    following = [f"%a{step}_{part}" for step in range(1, ahead) for part in range(per_iteration)]
    following += [f"%g{part}" for part in range(per_iteration)]
    lines += [f"scf.yield {', '.join(following)} : {types}", "}"]
    lines += [f"nvgpu.device_async_wait %r#{number}" for number in range(len(names))]
    body = "\n".join(lines)
    return f"func.func @f(%n: index, %src: memref<64x4xf32>, %out: memref<64x4xf32>) {{\n{body}\nfunc.return\n}}"


def counts(module: ModuleOp) -> list[int]:
    found = [wait.count for wait in waits_in(module)]
    assert all(isinstance(count, int) for count in found)
    return [count for count in found if isinstance(count, int)]


def counts_of_mlir(text: str) -> list[int]:
    """What `--convert-nvgpu-to-nvvm` waits for, in order. It works on what stands in a `gpu.module`."""
    lowered = mlir_opt(f"gpu.module @kernels {{\n{text}\n}}", "--convert-nvgpu-to-nvvm")
    return [int(count) for count in re.findall(r"nvvm\.cp\.async\.wait\.group (\d+)", lowered)]


def is_safe(module: ModuleOp) -> bool:
    return check(module, "f", trip_counts=range(6)).verdict is Verdict.SAFE


def test_the_rotating_loop_waits_for_two_one_zero_where_mlir_drains():
    text = ring_program(2, 1)
    assert counts(run_passes(parse(text), PASS)) == [2, 1, 0]
    assert counts_of_mlir(text) == [0, 0, 0]


def test_two_groups_an_iteration():
    """Distance two with two groups: five and four younger groups, not one for both."""
    assert counts(run_passes(parse(ring_program(2, 2)), PASS)) == [5, 4, 3, 2, 1, 0]


@corpus(len(RINGS))
def test_random_rings_are_exact_and_never_wait_for_more_than_mlir():
    for seed in RINGS:
        rng = random.Random(seed)
        ahead, groups, partial = rng.randint(1, 4), rng.randint(1, 3), rng.random() < 0.3
        text = ring_program(ahead, groups, partial=partial)
        before = parse(text)
        after = run_passes(before.clone(), PASS)
        ours, theirs = counts(after), counts_of_mlir(text)
        assert len(ours) == len(theirs)
        assert all(mine >= other for mine, other in zip(ours, theirs, strict=True))
        assert ours[0] > theirs[0]
        assert is_safe(after)
        assert not slack_waits(after, is_safe)
        source = np.arange(256, dtype=np.float32).reshape(64, 4)
        for order in ("eager", "lazy", "random:3"):
            expected = np.zeros((64, 4), np.float32)
            for part in range(groups):
                read = 0 if partial and part + 1 >= 2 else source[:5, part + 1]
                expected[:5, part] = read
            for module in (before, after):
                outcome = run_in_order(
                    module, "f", {"n": 5, "src": source, "out": np.zeros((64, 4), np.float32)}, order
                )
                assert not outcome.violations
                assert np.array_equal(outcome.arrays["out"], expected)


def test_mlir_accepts_the_result():
    after = run_passes(parse(ring_program(2, 1, partial=True)), PASS)
    mlir_opt(print_generic(after), "--allow-unregistered-dialect")


# Before and after, by meaning -----------------------------------------------------------------------------------------

ARGUMENTS = [{"n": n, "b": b} for n, b in ((0, 0), (1, 1), (2, 0), (3, 1), (7, 0))]


@each("first", CORPUS, 1, programs=8)
def test_safe_programs_stay_safe_with_the_same_numbers_in_every_order(first: int):
    for seed in range(first, first + 8):
        program = device_program(seed)
        before = parse(program.text)
        after = run_passes(before.clone(), PASS)
        assert "nvgpu" not in print_custom(after)
        assert kinds_of(check(before, "f", args=ARGUMENTS[-1], trip_counts=[0])) == ("safe", [])
        assert_same_verdict_and_numbers(before, after, ARGUMENTS, f"program {seed}")


@each("first", CORPUS, 1, programs=8)
def test_programs_that_lack_waits_keep_their_mistakes(first: int):
    """A race stays, unless a branch chooses a token: then the count is right for both tokens, and may wait for more."""
    found = 0
    for seed in range(first, first + 8):
        program = device_program(seed, mistakes=True)
        before = parse(program.text)
        after = run_passes(before.clone(), PASS)
        for arguments in ARGUMENTS[1:4]:
            old, new = (kinds_of(check(module, "f", args=arguments, trip_counts=[0])) for module in (before, after))
            found += bool(old[1])
            assert old == new or (program.merges and new == ("safe", [])), f"program {seed}, {arguments}"
    assert found


@each("first", CORPUS, 1, programs=8)
def test_given_counts_keep_their_meaning_or_are_refused(first: int):
    kept = 0
    for seed in range(first, first + 8):
        program = device_program(seed, counts=True)
        before, module = parse(program.text), parse(program.text)
        try:
            with recorded_diagnostics():
                after = run_passes(module, PASS)
        except RefusedError:
            assert print_custom(module) == print_custom(before)
            continue
        kept += 1
        assert_same_verdict_and_numbers(before, after, ARGUMENTS[1:4], f"program {seed}")
    assert kept


@each("first", CORPUS, 1, programs=8)
def test_what_mlir_makes_of_the_program_has_the_numbers_that_we_give_it(first: int):
    """An oracle for the meaning itself: the lowered program is pointers, bytes and `nvvm.cp.async`."""
    for seed in range(first, first + 8):
        text = device_program(seed).text
        ours, theirs = parse(text), parse(lowered_by_mlir(text))
        waits = counts_of_mlir(text)
        assert all(mine >= other for mine, other in zip(counts(run_passes(ours.clone(), PASS)), waits, strict=True))
        source = np.arange(1, 257, dtype=np.float32).reshape(64, 4)
        for n, order in ((1, "lazy"), (5, "random:1")):
            arrays = {"src": source, "out": np.zeros((64, 4), np.float32)}
            mine = run_in_order(ours, "f", {"n": n, "b": 1, **arrays}, order)
            lowered = {f"arg{number}": value for number, value in enumerate((n, 1, *arrays.values()))}
            other = run_in_order(theirs, "f", lowered, order)
            assert not mine.violations
            assert not other.violations
            assert same_bits(mine.arrays["out"], other.arrays["arg3"]), f"program {seed}, {n}, {order}"


# numGroups ------------------------------------------------------------------------------------------------------------


def given(number: int) -> str:
    wait = "nvgpu.device_async_wait %a0_0"
    return ring_program(2, 1).replace(wait, f"{wait} {{numGroups = {number} : i32}}")


def test_a_count_that_is_given_is_kept_where_it_waits_for_the_token():
    with recorded_diagnostics() as remarks:
        assert counts(run_passes(parse(given(2)), PASS)) == [2, 1, 0]
    assert not remarks
    with recorded_diagnostics() as remarks:
        assert counts(run_passes(parse(given(1)), PASS)) == [1, 1, 0]
    assert "2 groups may be unfinished, not 1" in str(remarks[0])
    assert counts_of_mlir(given(1)) == [1, 0, 0]


def test_a_count_by_which_the_token_may_be_unfinished_is_refused():
    """MLIR takes it: `wait.group 3` waits too little."""
    assert counts_of_mlir(given(3)) == [3, 0, 0]
    module = parse(given(3))
    with pytest.raises(RefusedError, match=r"leaves 3 groups unfinished, and its own may be among them: committed by"):
        run_passes(module, PASS)
    assert print_custom(module) == print_custom(parse(given(3)))


# Refusals -------------------------------------------------------------------------------------------------------------

COPY = "nvgpu.device_async_copy %src[%c0, %c0], %ring[%c0, %c0], 4 : memref<64x4xf32> to memref<3x4xf32, 3>"
REFUSALS = {
    "a token in memory": (
        f"%c = {COPY}\n%g = nvgpu.device_async_create_group %c\n%box = memref.alloc() : memref<{TOKEN}>\n"
        f"memref.store %g, %box[] : memref<{TOKEN}>",
        "'memref.store' op takes a device token to where it cannot be followed",
    ),
    "a token from a call": (
        f"%g = func.call @outside() : () -> {TOKEN}\nnvgpu.device_async_wait %g",
        "'func.call' op makes a device token that cannot be followed",
    ),
    "a wait for a copy": (
        f"%c = {COPY}\nnvgpu.device_async_wait %c",
        "'nvgpu.device_async_wait' op uses the token of a copy",
    ),
    "a copy in no group": (f"%c = {COPY}", "'nvgpu.device_async_copy' op is not in exactly one group"),
    "a store before the group": (
        f"%c = {COPY}\n%x = memref.load %src[%c0, %c0] : memref<64x4xf32>\n"
        "memref.store %x, %src[%c0, %c0] : memref<64x4xf32>\n%g = nvgpu.device_async_create_group %c",
        "op stands between the copies of a group and the group",
    ),
    "copies of two groups mixed": (
        f"%c = {COPY}\n%d = {COPY}\n%g = nvgpu.device_async_create_group %c\n%h = nvgpu.device_async_create_group %d",
        "'nvgpu.device_async_copy' op is issued among the copies of another group",
    ),
    "a group in another block": (
        f"%c = {COPY}\nscf.if %b {{\n%g = nvgpu.device_async_create_group %c\n}}",
        "'nvgpu.device_async_create_group' op is made of tokens of other blocks",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_name_op_reason_and_way_out_and_touch_nothing(case: str):
    body, message = REFUSALS[case]
    text = (
        f"func.func private @outside() -> {TOKEN}\n"
        "func.func @f(%b: i1, %src: memref<64x4xf32>, %ring: memref<3x4xf32, 3>) {\n"
        f"%c0 = arith.constant 0 : index\n{body}\nfunc.return\n}}"
    )
    module = parse(text)
    with pytest.raises(RefusedError) as error:
        run_passes(module, PASS)
    assert message in str(error.value)
    assert "help: " in str(error.value)
    assert print_custom(module) == print_custom(parse(text))


def test_a_token_of_the_caller_is_refused():
    with pytest.raises(RefusedError, match="takes a device token from its caller"):
        run_passes(parse(f"func.func @f(%t: {TOKEN}) {{\nnvgpu.device_async_wait %t\nfunc.return\n}}"), PASS)
