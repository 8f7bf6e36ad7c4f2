"""Programs that were reported because something went wrong with them, each with what it gives now."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.support.ir import ROOT, context, run_passes, universe
from tileas_xdsl.checker.verdict.checking import check
from tileas_xdsl.checker.verdict.report import Verdict
from tileas_xdsl.diagnostics import RefusedError, failed_softly, recorded_diagnostics
from tileas_xdsl.interfaces import functions_in
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import parse_module, read_module
from tileas_xdsl.transforms.tileas.unspecialized_pipeline import UnspecializedPipelinePass

REPORTED = Path(__file__).parent / "reported"


def read(name: str) -> ModuleOp:
    return read_module(str(REPORTED / f"{name}.mlir"))


# What is no program ---------------------------------------------------------------------------------------------------

REFUSED = {
    "scales_of_four_rows": "expects scale factors for each of the 8 rows of A, but got 4 rows of them",
    "half_of_a_block_scaled_k": "expects K to be a multiple of 64, which one instruction multiplies, but got 32",
    "eight_rows_for_two_ctas": "expects M and N to be multiples of 128 and 16, as two CTAs multiply, but got 8 and 8",
    "arms_of_two_iterator_types": "branch arms must yield matching pipeline iterator types",
    "ring_of_no_slots": "expects numStages to be at least 1, but got 0",
    "kernel_mark_on_a_function": "cannot be marked nvvm.kernel, which is for llvm.func",
}


@pytest.mark.parametrize(("name", "text"), REFUSED.items())
def test_what_is_no_program_is_refused_with_its_place(name: str, text: str) -> None:
    with pytest.raises(InputError, match=rf"{name}-invalid.mlir:\d+:\d+: error: '[\w.]+' op ") as refused:
        read(f"{name}-invalid")
    assert refused.value.messages[0].endswith(text)


# What is safe ---------------------------------------------------------------------------------------------------------

EVERY = "safe for every trip count"
SAFE = {
    "box_too_small_for_tma": EVERY,
    "casts_of_tiles": EVERY,
    "copy_in_three_stages": EVERY,
    "fence_between_proxies": EVERY,
    "indirect_coordinates": EVERY,
    "indirect_coordinates_pipelined": EVERY,
    "long_loops_of_copies": EVERY,
    "long_nest_around_a_slot": EVERY,
    "padding_that_tma_lacks": EVERY,
    "pipelined_nest": EVERY,
    "predicated_epilogue": EVERY,
    "product": EVERY,
    "product_by_tokens": EVERY,
    "product_in_tensor_memory": EVERY,
    "store_from_lds": EVERY,
    "three_engines": EVERY,
    "token_of_the_turn_before": EVERY,
    "tokens_carried_by_a_loop": EVERY,
    "unused_work_in_a_put": EVERY,
    "workgroup_memory": EVERY,
    "all_bounds_dynamic": "safe for trip counts 0..5",
    "loop_behind_a_branch": EVERY,
    "resource_in_a_loop": "safe for trip counts 0..8",
}


@pytest.mark.parametrize(("name", "verdict"), SAFE.items())
def test_what_is_right_is_safe(name: str, verdict: str) -> None:
    report = check(read(name))
    assert report.verdict_line == verdict
    assert report.undecided == []


UNDECIDED = {
    "cooperative_copies_in_three_stages": "nothing says how many there are: give the function nvvm.reqntid",
    "resource_of_four_words": "computes an address from data that is not computed when checking",
    "transfers_of_six_kinds": "computes an address from data that is not computed when checking",
}
"""What is read, and lacks a number: of threads, or the offset that is an argument."""


@pytest.mark.parametrize(("name", "reason"), UNDECIDED.items())
def test_what_lacks_a_number_is_undecided_with_the_reason(name: str, reason: str) -> None:
    report = check(read(name))
    assert report.verdict is Verdict.UNDECIDED
    assert reason in str(report)


@pytest.mark.parametrize(("name", "kinds"), [("resource_of_four_words", []), ("transfers_of_six_kinds", ["race"])])
def test_with_the_offset_transfers_are_judged(name: str, kinds: list[str]) -> None:
    """One transfer, awaited, is right; six into the same bytes, of which none waits for another, are not."""
    assert check(read(name), args={"o": 0}).kinds == kinds


def test_a_misspelt_type_has_its_place() -> None:
    name = "order_with_a_misspelt_type"
    with pytest.raises(InputError, match=rf"{name}-invalid.mlir:7:\d+: error: type expected"):
        read(f"{name}-invalid")


def test_indices_that_are_data_are_an_assumption() -> None:
    report = check(read("indirect_coordinates"))
    assert "indices that are data stay inside a, b" in report.last_line


def test_coordinates_into_what_is_written_are_one_doubt() -> None:
    """Where the tiles lie makes a difference then."""
    text = (REPORTED / "indirect_coordinates.mlir").read_text()
    written = text.replace(
        "scf.yield %s1",
        "nv_tileaa.tiled_store %a[%c0, %k], %at : (memref<?x?xf16>, !a, index, index) -> ()\n    scf.yield %s1",
    )
    assert written != text
    report = check(parse_module(written, "written.mlir", context()))
    (doubt,) = report.undecided
    assert "'nv_tileaa.tiled_load' op computes an address in 'a', which is written, from data" in doubt


def test_pipelines_that_do_not_match_are_refused_by_name() -> None:
    from tileas_xdsl.machine.core.violations import UnsupportedError

    with pytest.raises(UnsupportedError, match="takes value 0 of a slot of pipeline 'p', which holds 0"):
        check(read("pipelines_that_do_not_match"))


# What passes make of them ---------------------------------------------------------------------------------------------

COMPILED = [
    "all_bounds_dynamic",
    "box_too_small_for_tma",
    "indirect_coordinates",
    "loop_behind_a_branch",
    "padding_that_tma_lacks",
    "product",
    "product_by_tokens",
    "product_in_tensor_memory",
    "unused_work_in_a_put",
]


@pytest.mark.parametrize("strategy", ["unspecialize", "warp-specialize"])
@pytest.mark.parametrize("name", COMPILED)
def test_the_family_keeps_them_safe(name: str, strategy: str) -> None:
    module = read(name)
    before = check(module).verdict_line
    with recorded_diagnostics() as said:
        run_passes(module, f"tileir{{compute-capability=sm_90 pipeline-strategy={strategy}}}")
    assert [str(remark) for remark in said if "may write what it reads" in str(remark)] == []
    report = check(module)
    assert report.verdict_line == before
    assert report.undecided == []


def test_three_agents_are_proved_where_one_bound_is_fixed() -> None:
    report = check(read("three_agents"), args={"n": 3})
    assert report.verdict_line == "safe for every t, with n = 3"


@pytest.mark.parametrize("name", ["box_too_small_for_tma", "padding_that_tma_lacks"])
def test_what_tma_cannot_do_is_no_tma(name: str) -> None:
    module = read(name)
    run_passes(module, "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}")
    assert 'producer_kind = "tma"' not in str(module)
    assert 'producer_kind = "async_copy"' in str(module)


def test_division_by_a_step_of_zero_is_left_out() -> None:
    """The trip count of a pipelined loop is a quotient by the step."""
    module = read("all_bounds_dynamic")
    assert "'scf.for' has no positive step where st is 0" in "\n".join(check(module).left_out)
    run_passes(module, "tileir{compute-capability=sm_90 pipeline-strategy=unspecialize}")
    report = check(module)
    assert any("'arith.divui' divides by zero where st is 0" in calls for calls in report.left_out)
    assert report.last_line.endswith("left out: calls in which a divisor is zero")


def test_two_producers_of_one_pipeline_are_the_published_error() -> None:
    with pytest.raises(RefusedError, match="there are two `produce-one-like` operations using different instructions"):
        run_passes(read("two_producers_of_one_pipeline"), "tileas-materialize-async")


def test_a_later_run_clears_the_status_of_an_earlier_one() -> None:
    module = read("three_stages_then_one")
    (function,) = functions_in(module)
    with recorded_diagnostics() as said:
        run_passes(module, "tileas-unspecialized-pipeline{num-stages=3}")
    assert "Failed to pipeline loop" in str(said[0])
    assert failed_softly(function, UnspecializedPipelinePass.name)
    run_passes(module, "tileas-unspecialized-pipeline{num-stages=1}")
    assert not failed_softly(function, UnspecializedPipelinePass.name)


def test_order_on_some_ops_only_is_remarked() -> None:
    for name, remarks in (("order_of_all_ops", 0), ("order_of_some_ops", 1)):
        with recorded_diagnostics() as said:
            run_passes(read(name), "tileas-unspecialized-pipeline")
        assert sum("has no order, and others have" in str(remark) for remark in said) == remarks


@pytest.mark.parametrize("name", ["copy_in_three_stages", "three_engines", "pipelined_nest"])
def test_annotated_loops_become_phases(name: str) -> None:
    module = read(name)
    run_passes(module, "inject-software-pipeline,convert-queue-to-pipeline")
    assert "async_queue.wait" not in str(module)
    assert check(module).verdict_line == EVERY


# Options that do not exist --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("tileir{pipeline-strategy=foo}", "choose one of none, unspecialize, warp-specialize"),
        ("tileir{compute-capability=zzz}", "no machine model of 'zzz': choose one of published, sm_80, "),
        ("tileir{compute-capability=sm_42}", "no machine model of sm_42: choose one of sm_80, "),
        ("check-async{capture=later}", "check-async has no capture 'later'; choose one of completion, issue"),
        ("convert-queue-to-rocdl{target=gfx1}", "convert-queue-to-rocdl has no target 'gfx1'; choose one of gfx942, "),
    ],
)
def test_a_word_that_an_option_lacks_is_an_error_with_the_words_that_it_has(spec: str, text: str) -> None:
    from xdsl.passes import PassPipeline

    module = read("product")
    before = str(module)
    with pytest.raises(Exception) as refused:  # noqa: PT011 - the passes and xDSL have classes of their own
        PassPipeline.parse_spec(dict(universe().all_passes), spec).apply(context(), module)
    assert text in str(refused.value)
    assert str(module) == before


def test_every_reported_program_stands_here() -> None:
    """And is asked about by name."""
    tests = [ROOT / "tests" / "test_reported_programs.py", ROOT / "tests" / "transforms" / "test_cooperative_copies.py"]
    asked = "".join(test.read_text() for test in tests).replace('.mlir"', '"')
    assert [file.stem for file in REPORTED.iterdir() if f'"{file.stem.removesuffix("-invalid")}"' not in asked] == []
