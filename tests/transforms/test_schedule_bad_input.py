"""
What is wrong with the input of the scheduling passes is said, with the op, and nothing is rewritten; and which tiles
TMA takes.
"""

from __future__ import annotations

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i32
from xdsl.utils.exceptions import PassFailedException

from tests.support.ir import ROOT, parse, print_custom, run_passes
from tests.support.scheduled_loops import GEMM, buffers, expanded, ops_of, prepared
from tests.transforms.test_scheduled_loops import PARTIAL, rings
from tileas_xdsl.diagnostics import recorded_diagnostics
from tileas_xdsl.dialects.nv_tileas.pipeline import CreatePipelineOp

# Tags -----------------------------------------------------------------------------------------------------------------

TAGGED = PARTIAL.replace("ORDER", ", order = 1 : i32")
LAST = "{stage = 1 : i32, iter_offset = -1 : i32, order = 2 : i32}"


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        ('{stage = "late", iter_offset = -1 : i32, order = 2 : i32}', "has a stage that is no integer"),
        ("{stage = 1 : i32, iter_offset = unit, order = 2 : i32}", "has an iter_offset that is no integer"),
        (
            "{stage = 1 : i32, iter_offset = 1 : i32, order = 2 : i32}",
            "has stage 1 and iter_offset 1, which is to be -1",
        ),
        ("{stage = 1 : i32, iter_offset = -1 : i32}", "has no order, and others have"),
    ],
)
def test_a_wrong_tag_is_a_miss_that_names_op_and_tag(tags: str, reason: str) -> None:
    assert LAST in TAGGED
    module = parse(TAGGED.replace(LAST, tags.replace("unit", '"x"')))
    with recorded_diagnostics() as said:
        run_passes(module, expanded(2))
    ((message, why),) = [(diagnostic.message, diagnostic.way_out) for diagnostic in said]
    assert message == "Failed to pipeline loop"
    assert why is not None
    assert why.startswith(f"'memref.store' op {reason}")
    assert len([op for op in module.walk() if isinstance(op, scf.ForOp)]) == 1


def test_right_tags_are_expanded() -> None:
    with recorded_diagnostics() as said:
        assert print_custom(run_passes(parse(TAGGED), expanded(2))) != print_custom(parse(TAGGED))
    assert said == []


@pytest.mark.parametrize("depth", [IntegerAttr(0, i32), StringAttr("three")], ids=str)
def test_a_depth_that_is_no_number_of_slots_is_refused(depth: IntegerAttr | StringAttr) -> None:
    module = run_passes(parse(GEMM), prepared())
    ops_of(module, CreatePipelineOp)[1].attributes["nv_tileas.depth"] = depth
    with pytest.raises(PassFailedException, match=r"has nv_tileas.depth = .* which is no number of slots"):
        run_passes(module, buffers())
    assert all("nv_tileas.buffer" not in op.attributes for op in ops_of(module, CreatePipelineOp))


# Options of the driver ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("schedule-strategy=fast", "schedule-strategy=fast and pipeline-strategy=none contradict each other"),
        ("schedule-trace-file=t", "schedule-trace-file=t and pipeline-strategy=none contradict each other"),
        (
            "pipeline-strategy=unspecialize schedule-strategy=best",
            "unknown schedule-strategy 'best'; choose one of none",
        ),
        ("pipeline-strategy=unspecialize compute-capability=sm_75", "no machine model of sm_75: choose one of sm_80"),
    ],
)
def test_the_driver_refuses_before_it_rewrites(options: str, text: str) -> None:
    module = parse(GEMM)
    before = print_custom(module)
    with pytest.raises(PassFailedException, match=text):
        run_passes(module, f"tileir{{{options}}}")
    assert print_custom(module) == before


# Boxes of TMA ---------------------------------------------------------------------------------------------------------


def kind_of(text: str, target: str = "sm_90") -> str:
    """How the first ring of the prepared loop is filled."""
    text = print_custom(run_passes(parse(text), prepared(target=target)))
    return text.split('producer_kind = "')[1].split('"')[0]


def loop_over(tile: str, padding: str = "") -> str:
    attributes = f" attributes {{padding_value = #nv_tileaa<padding_value {padding}>}}" if padding else ""
    text = (ROOT / "tests" / "kernels" / "elementwise.mlir").read_text().replace("16x16xf32", tile)
    text = text.replace("%x[%k, %c0] :", f"%x[%k, %c0]{attributes} :")
    element = tile.rsplit("x", 1)[-1]
    return text.replace("memref<?x?xf32>", f"memref<?x?x{element}>")


@pytest.mark.parametrize(
    ("tile", "padding", "kind"),
    [
        ("16x16xf32", "", "tma"),
        ("256x256xf16", "", "tma"),
        ("4x8xf16", "", "tma"),
        ("8x4xf16", "", "async_copy"),
        ("16x2xf32", "", "async_copy"),
        ("512x16xf32", "", "async_copy"),
        ("8x512xf16", "", "async_copy"),
        ("16x16xf32", "zero", "tma"),
        ("16x16xf32", "nan", "tma"),
        ("16x16xf32", "neg_inf", "async_copy"),
    ],
)
def test_tma_brings_the_boxes_and_paddings_that_it_takes(tile: str, padding: str, kind: str) -> None:
    assert kind_of(loop_over(tile, padding)) == kind
    assert kind_of(loop_over(tile, padding), "sm_80") == "async_copy"


# Buffers --------------------------------------------------------------------------------------------------------------


def test_tiles_that_do_not_fit_in_tensor_memory_are_refused_in_bytes() -> None:
    text = rings(2, apart=False).replace("<smem>", "<tmem>").replace("16xf32", "128x512xf32")
    with pytest.raises(PassFailedException, match="fails to assign tmem buffer") as refused:
        run_passes(parse(text), buffers("sm_100"))
    assert "262144 bytes are missing: 524288 of 262144" in str(refused.value)


def shared_with(module_text: str) -> tuple[list[str], list[bool]]:
    module = parse(module_text)
    with recorded_diagnostics() as said:
        run_passes(module, buffers())
    records = [op.attributes["nv_tileas.buffer"] for op in ops_of(module, CreatePipelineOp)]
    return [d.message for d in said], [isinstance(r, DictionaryAttr) and "shares" in r.data for r in records]


def test_a_ring_whose_transfer_is_awaited_keeps_its_bytes() -> None:
    text = rings(2, apart=True)
    fill = "%f1 = nv_tileas.async.pipeline.produce_one %put1"
    assert fill in text
    waited = text.replace("produce_one %put1", "produce_one_async %put1").replace("%f1 =", "%f1, %t1 =")
    head, tail = waited.split("produce_one_async", 1)
    tail = tail.replace(": (!pt, index) -> !pt", ": (!pt, index) -> (!pt, !nv_tileas.token)", 1)
    drain = "  %d1 = "
    wait = "  nv_tileas.async.wait %t1 : (!nv_tileas.token) -> ()\n"
    messages, shares = shared_with(f"{head}produce_one_async{tail}".replace(drain, wait + drain))
    assert messages == ["mbarrier has wait-like users, cannot share pipeline buffer."]
    assert shares == [False, False]


def test_rings_of_different_blocks_are_not_merged() -> None:
    one = rings(2, apart=True)
    start, end = one.index("  %put1,"), one.index("  %f0 =")
    make, rest = one[start:end], one[:start] + one[end:]
    first, last = rest.index("  %f1 ="), rest.index("  func.return")
    inside = f"  scf.for %i = %c0 to %c1 step %c1 {{\n{make}{rest[first:last]}  }}\n"
    text = rest[:first] + inside + rest[last:]
    text = text.replace("  %c0 =", "  %c1 = arith.constant 1 : index\n  %c0 =")
    messages, shares = shared_with(text)
    assert messages == ["unable to merge two different pipelines: 'put0' and 'put1' are not made in one block"]
    assert shares == [False, False]
