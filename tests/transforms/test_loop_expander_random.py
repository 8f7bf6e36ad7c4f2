"""
Random scheduled loops through `mlir-opt --test-scf-pipelining` and through ours, all run for 0 to 8 iterations.

Both mlir-runner and our machine run what we expand. The oracles are independent of the code under test: mlir-runner
for what a loop computes, mlir-opt for what another expander makes of it, and enumeration of all iterations for which
schedules are legal. `TILEAS_CASES=full` takes 325 loops in place of 25.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pytest

from tests.support.corpora import each
from tests.support.execution import Case, run_case_on_machine, run_cases
from tests.support.ir import context, parse, print_custom
from tests.support.mlir import mlir_opt
from tests.support.random_loops import SIZE, RandomLoop, random_loop
from tests.support.scf_pipelining import LOOP, ScfPipeliningPass
from tileas_xdsl.analysis.dominance import verify_dominance

LOOPS_A_CHUNK = 25
TRIPS = range(9)
EPILOGUES = ("peeled", "predicated")

chunks = each("chunk", range(13), 1, programs=LOOPS_A_CHUNK)


@dataclass(frozen=True)
class Variant:
    """A random loop as a function: with bounds as arguments, or with constant ones for one trip count."""

    loop: RandomLoop
    trips: int | None

    @property
    def name(self) -> str:
        return f"loop_{self.loop.seed}" + ("" if self.trips is None else f"_{self.trips}")

    def text(self, name: str, *, scheduled: bool) -> str:
        bounds = None
        if self.trips is not None:
            lower, step = self.loop.bounds[1]
            bounds = (lower, lower + self.trips * step - (self.slack if self.trips else 0), step)
        return self.loop.function(name, scheduled=scheduled, static_bounds=bounds)

    @property
    def slack(self) -> int:
        """How far the upper bound stands before the next iteration: the last step need not be whole."""
        return self.loop.seed % self.loop.bounds[1][1]

    def cases(self, function: str) -> list[Case]:
        """The runs of this variant, under the name `function`."""
        bounds = self.loop.bounds if self.trips is None else self.loop.bounds[1:]
        trips = TRIPS if self.trips is None else range(self.trips, self.trips + 1)
        return [
            Case(
                function, self.loop.element, SIZE, len(self.loop.carried), lower, step, min(self.slack, step - 1), trips
            )
            for lower, step in bounds
        ]

    def is_legal(self) -> bool:
        """
        Whether the schedule keeps every order that matters, for all bounds that the function may be given.

        Where it does not know its bounds, a few lower bounds and steps stand for all.
        """
        if not self.loop.values_in_order():
            return False
        if self.trips is not None:
            return self.loop.memory_in_order(*self.loop.bounds[1], self.trips)
        return all(self.loop.memory_in_order(lower, step, 12) for lower in range(-9, 4) for step in range(1, 5))


@dataclass(frozen=True)
class Outcome:
    """What became of the loops of one chunk. A function is known by the name of its variant and how it was made."""

    variants: list[Variant]
    numbers: dict[tuple[str, str], list[object]]
    """What a function computes: `original`, or made by `ours` or `mlir`; absent where they refused."""
    reasons: dict[str, str]
    """Why ours was refused."""
    texts: dict[tuple[str, str], str]
    """The functions themselves, by the same keys."""


@cache
def outcome_of(chunk: int) -> Outcome:
    """Expand and run a chunk of loops; the tests below each look at one side of it."""
    loops = [random_loop(seed) for seed in range(chunk * LOOPS_A_CHUNK, (chunk + 1) * LOOPS_A_CHUNK)]
    variants = [
        Variant(loop, trips) for loop in loops for trips in (TRIPS if loop.static else [None])
    ]  # fmt: skip
    made: dict[tuple[str, str], str] = {}
    reasons: dict[str, str] = {}
    for variant in variants:
        made[variant.name, "original"] = variant.text(f"{variant.name}_original", scheduled=False)
    for epilogue in EPILOGUES:
        for name, text in expanded_by_mlir(variants, epilogue).items():
            made[name, f"mlir_{epilogue}"] = text.replace(f"@{name}(", f"@{name}_mlir_{epilogue}(")
        for variant in variants:
            text = expanded_by_us(variant, epilogue, reasons)
            if text is not None:
                made[variant.name, f"ours_{epilogue}"] = text
    cases = {
        (variant.name, way): variant.cases(f"{variant.name}_{way}")
        for variant in variants
        for way in ("original", *(f"{who}_{epilogue}" for who in ("ours", "mlir") for epilogue in EPILOGUES))
        if (variant.name, way) in made
    }
    flat = [case for some in cases.values() for case in some]
    numbers = iter(run_cases("\n".join(made.values()), flat))
    return Outcome(variants, {key: [next(numbers) for _ in some] for key, some in cases.items()}, reasons, made)


def expanded_by_us(variant: Variant, epilogue: str, reasons: dict[str, str]) -> str | None:
    module = parse(variant.text(f"{variant.name}_ours_{epilogue}", scheduled=True))
    test_pass = ScfPipeliningPass(no_epilogue_peeling=epilogue == "predicated")
    test_pass.apply(context(), module)
    module.verify()
    verify_dominance(module)
    if test_pass.refusals:
        reasons[variant.name] = str(test_pass.refusals[0])
        return None
    return "\n".join(print_custom(op) for op in module.body.block.ops)


def expanded_by_mlir(variants: list[Variant], epilogue: str) -> dict[str, str]:
    """The functions that mlir-opt has expanded. It says nothing on a refusal but leaves the mark on the loop."""
    option = "--test-scf-pipelining" + ("=no-epilogue-peeling" if epilogue == "predicated" else "")
    printed = mlir_opt("\n".join(variant.text(variant.name, scheduled=True) for variant in variants), option)
    pieces = re.split(r"^  (?=func\.func @)", printed.rstrip().removesuffix("}"), flags=re.MULTILINE)[1:]
    functions = {re.match(r"func\.func @(\w+)", piece)[1]: piece for piece in pieces}  # pyright: ignore
    return {name: text for name, text in functions.items() if LOOP not in text}


@chunks
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_what_we_expand_computes_what_the_loop_did(chunk: int, epilogue: str) -> None:
    outcome = outcome_of(chunk)
    for variant in outcome.variants:
        if (variant.name, f"ours_{epilogue}") in outcome.numbers:
            ours = outcome.numbers[variant.name, f"ours_{epilogue}"]
            assert ours == outcome.numbers[variant.name, "original"], variant.name


@chunks
@pytest.mark.parametrize("way", ["original", "ours_peeled", "ours_predicated"])
def test_our_machine_computes_what_mlir_runner_does(chunk: int, way: str) -> None:
    outcome = outcome_of(chunk)
    for variant in outcome.variants:
        if (text := outcome.texts.get((variant.name, way))) is not None:
            module = parse(text)
            numbers = [run_case_on_machine(module, case) for case in variant.cases(f"{variant.name}_{way}")]
            assert numbers == outcome.numbers[variant.name, way], variant.name


@chunks
def test_we_expand_exactly_the_legal_schedules(chunk: int) -> None:
    """What enumeration finds in order is accepted, and what it finds out of order is refused."""
    outcome = outcome_of(chunk)
    for variant in outcome.variants:
        expanded = (variant.name, "ours_peeled") in outcome.numbers
        assert expanded == ((variant.name, "ours_predicated") in outcome.numbers)
        assert expanded == variant.is_legal(), (variant.name, outcome.reasons.get(variant.name))


@chunks
@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_where_mlir_is_right_we_agree(chunk: int, epilogue: str) -> None:
    """
    MLIR checks values and not memory, so it also expands illegal schedules; a legal one it gets right.

    With one exception: when the loop yields a value from outside of it, LLVM 22 gets the carried value wrong.
    """
    outcome = outcome_of(chunk)
    agreements = 0
    for variant in outcome.variants:
        theirs = outcome.numbers.get((variant.name, f"mlir_{epilogue}"))
        if theirs is None or not variant.is_legal() or "%k5" in variant.loop.yielded:
            continue
        assert theirs == outcome.numbers[variant.name, "original"], variant.name
        assert theirs == outcome.numbers[variant.name, f"ours_{epilogue}"], variant.name
        agreements += 1
    assert agreements >= len(outcome.variants) // 2, "the oracle must have something to say"


@chunks
def test_where_mlir_refuses_we_refuse_or_are_right(chunk: int) -> None:
    """MLIR refuses a value that is used before it is made; so do we. What else it refuses runs right (see above)."""
    outcome = outcome_of(chunk)
    for variant in outcome.variants:
        refused_by_mlir = (variant.name, "mlir_peeled") not in outcome.numbers
        if refused_by_mlir and (variant.name, "ours_peeled") in outcome.numbers:
            passed_on = [name for name in variant.loop.yielded if name in variant.loop.carried or name == "%k5"]
            assert passed_on, f"{variant.name} was refused for another reason than an argument that no op makes"


@chunks
def test_the_loops_are_worth_running(chunk: int) -> None:
    """Most have several stages; legal and illegal schedules, carried values and constant bounds all occur."""
    loops = [variant.loop for variant in outcome_of(chunk).variants]
    assert sum(loop.stages > 1 for loop in loops) > len(loops) // 2
    assert any(loop.carried for loop in loops)
    assert {loop.static for loop in loops} == {True, False}
    assert {variant.is_legal() for variant in outcome_of(chunk).variants} == {True, False}
