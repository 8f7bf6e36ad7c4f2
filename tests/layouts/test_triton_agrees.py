"""The algebra, the encodings and the bank conflicts against what Triton answers; see `triton_oracle.py`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest

from tests.layouts.triton_oracle import Question, Triton, questions
from tileas_xdsl.layouts.access import accesses
from tileas_xdsl.layouts.distributed import blocked, sliced
from tileas_xdsl.layouts.fragments import MmaShape, fragment
from tileas_xdsl.layouts.linear import LinearLayout
from tileas_xdsl.layouts.memory import row_major, swizzled
from tileas_xdsl.layouts.staging import least

QUESTIONS = questions()


@pytest.fixture(scope="module")
def triton() -> Triton:
    if find_spec("triton") is None:
        if os.environ.get("TILEAS_REQUIRE_ORACLES") == "1":
            pytest.fail("Triton 3.9 is required and absent: pip install '.[dev]'")
        pytest.skip("needs Triton 3.9: pip install '.[dev]'")
    return Triton()


def of(kind: str) -> list[Question]:
    return [question for question in QUESTIONS if question["ask"] == kind]


def bases(layout: LinearLayout) -> list[list[Any]]:
    return [[name, [list(basis) for basis in layout.bases(name)]] for name in layout.input_names]


@pytest.mark.parametrize("question", of("algebra"))
def test_algebra(question: Question, triton: Triton):
    """
    Where the result is unique it is the same; where elements are held twice, it is one of the possible ones, as
    Triton's.
    """
    answer = triton.answer(question)
    first, second, after = (
        LinearLayout.of(dict(question[which]), question["outputs"]) for which in ("first", "second", "after")
    )
    assert bases(first.then(after)) == answer["compose"]
    assert first.is_injective == answer["injective"]
    places, back = first.into_places_of(second), first.pseudo_inverse()
    sizes = {name: second.input_size(name) for name in ("register", "lane")}
    assert LinearLayout.of(dict(answer["invert_and_compose"]), sizes).then(second) == first == places.then(second)
    if second.is_injective:
        assert bases(places) == answer["invert_and_compose"]
    if first.is_injective:
        assert bases(back) == answer["pseudoinvert"]
    if answer["invert"] is not None:
        assert bases(first.inverse()) == answer["invert"]


def layout_of(kind: str, arguments: list[Any], shape: list[int]) -> LinearLayout:
    if kind == "blocked":
        return blocked(*arguments, shape)
    if kind == "slice":
        axis, *rest = arguments
        whole = [*shape[:axis], 1, *shape[axis:]]
        return sliced(blocked(*rest, whole), axis)
    if kind == "nvmma":
        width, bits, turned = arguments
        return swizzled(shape, bits, width, [0, 1] if turned else [1, 0])
    version, warps, instruction, per_word = arguments
    form = MmaShape(16, 8, 8 * per_word) if version == 2 else MmaShape(64, instruction[1], instruction[2])
    return fragment(form, kind, 32 // per_word, tuple(warps), tuple(shape))


@pytest.mark.parametrize("question", [question for question in of("encoding") if question["kind"] != "swizzled"])
def test_encodings(question: Question, triton: Triton):
    answer = triton.answer(question)
    found = layout_of(question["kind"], question["arguments"], question["shape"])
    assert {name: [list(basis) for basis in found.bases(name)] for name in answer} == answer


def test_a_swizzle_without_phases_is_plain(triton: Triton):
    question = next(q for q in of("encoding") if q["kind"] == "swizzled" and q["arguments"][0] == 1)
    plain = row_major(question["shape"], question["arguments"][3])
    assert [list(basis) for basis in plain.bases("offset")] == triton.answer(question)["offset"]


@pytest.mark.parametrize("question", of("conflicts"))
def test_bank_conflicts(question: Question, triton: Triton):
    """Triton counts the accesses of a wavefront beyond the one that it would need."""
    registers, memory = (layout_of(*question[which], question["shape"]) for which in ("registers", "memory"))
    best = accesses(registers, memory, question["bits"])[0]
    assert best.wavefronts == (triton.answer(question) + 1) * least(best)
