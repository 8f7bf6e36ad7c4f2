"""The ops of `tensor` against numpy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.machine.support import call, machine_for
from tests.machine.test_meanings_memref import spell
from tileas_xdsl.machine.core.values import UNKNOWN
from tileas_xdsl.machine.core.violations import UnsupportedError


def function(arguments: dict[str, str], body: str, result: str) -> str:
    listed = ", ".join(f"%{name}: {kind}" for name, kind in arguments.items())
    return f"func.func @f({listed}) -> ({result}) {{\n{body}\nfunc.return %r : {result}\n}}"


def floats(*shape: int) -> Any:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def checking() -> Any:
    return machine_for(with_data=False)


# Making ---------------------------------------------------------------------------------------------------------------


def test_empty_splat_and_elements() -> None:
    text = function({"n": "index"}, "%r = tensor.empty(%n) : tensor<2x?xf16>", "tensor<2x?xf16>")
    array = call(text, "f", 3)
    assert (array.shape, array.dtype, array.any()) == ((2, 3), np.float16, False)
    assert call(text, "f", 3, machine=checking()) is UNKNOWN

    text = function({"x": "i8", "n": "index"}, "%r = tensor.splat %x[%n] : tensor<?x2xi8>", "tensor<?x2xi8>")
    assert call(text, "f", -3, 2).tolist() == [[-3, -3], [-3, -3]]
    assert call(text, "f", -3, 2).dtype == np.int8

    body = "%r = tensor.from_elements %x, %y, %x, %y : tensor<2x2xi1>"
    array = call(function({"x": "i1", "y": "i1"}, body, "tensor<2x2xi1>"), "f", 1, 0)
    assert (array.dtype, array.tolist()) == (np.bool_, [[True, False], [True, False]])


def test_concat() -> None:
    body = "%r = tensor.concat dim(1) %a, %b : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x4xf32>"
    text = function({"a": "tensor<2x1xf32>", "b": "tensor<2x3xf32>"}, body, "tensor<2x4xf32>")
    assert np.array_equal(call(text, "f", floats(2, 1), floats(2, 3)), np.hstack([floats(2, 1), floats(2, 3)]))


def test_negative_sizes_are_refused() -> None:
    text = function({"n": "index"}, "%r = tensor.empty(%n) : tensor<?xf16>", "tensor<?xf16>")
    with pytest.raises(UnsupportedError, match=r"makes a tensor of shape \(-1,\)"):
        call(text, "f", -1)


# Elements and slices --------------------------------------------------------------------------------------------------


def test_elements_are_scalars() -> None:
    text = function({"a": "tensor<?x?xi32>", "i": "index"}, "%r = tensor.extract %a[%i, %i] : tensor<?x?xi32>", "i32")
    assert type(call(text, "f", np.arange(9, dtype=np.int32).reshape(3, 3), 2)) is int
    text = function({"a": "tensor<?xf32>", "i": "index"}, "%r = tensor.extract %a[%i] : tensor<?xf32>", "f32")
    assert type(call(text, "f", floats(3), 1)) is np.float32
    with pytest.raises(UnsupportedError, match=r"reaches element \(3,\) of a tensor of shape \(3,\)"):
        call(text, "f", floats(3), 3)


def test_tensors_are_never_modified_in_place() -> None:
    body = "%r = tensor.insert %x into %a[%i] : tensor<?xf32>"
    text = function({"x": "f32", "a": "tensor<?xf32>", "i": "index"}, body, "tensor<?xf32>")
    array = floats(3)
    assert call(text, "f", np.float32(9), array, 1).tolist() == [0, 9, 2]
    assert array.tolist() == [0, 1, 2]
    with pytest.raises(UnsupportedError, match=r"reaches element \(-1,\)"):
        call(text, "f", np.float32(9), array, -1)


def random_window(generator: random.Random, shape: list[int]) -> tuple[list[int], list[int], list[int]]:
    offsets, sizes, strides = [], [], []
    for extent in shape:
        stride, offset = generator.choice([1, 1, 2]), generator.randrange(extent)
        offsets.append(offset)
        sizes.append(generator.randint(1, (extent - offset + stride - 1) // stride))
        strides.append(stride)
    return offsets, sizes, strides


def test_slices_are_those_of_numpy() -> None:
    generator = random.Random(4)
    for _ in range(100):
        shape = [generator.randint(1, 6) for _ in range(generator.randint(1, 3))]
        offsets, sizes, strides = random_window(generator, shape)
        drop = [d for d, size in enumerate(sizes) if size == 1 and generator.random() < 0.5][:1]
        kept = [size for d, size in enumerate(sizes) if d not in drop]
        numbers: list[int] = []
        spelled = [spell(generator, part, numbers) for part in (offsets, strides)]
        window = f"[{spelled[0]}] [{', '.join(map(str, sizes))}] [{spelled[1]}]"
        whole = f"tensor<{'x'.join(map(str, shape))}xf32>"
        part = f"tensor<{''.join(f'{size}x' for size in kept)}f32>"
        arguments = {"a": whole, "b": part, **{f"p{number}": "index" for number in range(len(numbers))}}
        taken = function(arguments, f"%r = tensor.extract_slice %a{window} : {whole} to {part}", part)
        put = function(arguments, f"%r = tensor.insert_slice %b into %a{window} : {part} into {whole}", whole)
        places = tuple(slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offsets, sizes, strides, strict=True))
        array, piece = floats(*shape), -floats(*kept) - 1
        assert np.array_equal(call(taken, "f", array, piece, *numbers), array[places].reshape(kept)), window
        expected = array.copy()
        expected[places] = piece.reshape(sizes)
        assert np.array_equal(call(put, "f", array, piece, *numbers), expected), window
        assert np.array_equal(array, floats(*shape)), "the source stays as it was"


def test_slices_must_lie_inside() -> None:
    body = "%r = tensor.extract_slice %a[%o] [3] [2] : tensor<?xf32> to tensor<3xf32>"
    text = function({"a": "tensor<?xf32>", "o": "index"}, body, "tensor<3xf32>")
    assert call(text, "f", floats(6), 1).tolist() == [1, 3, 5]
    with pytest.raises(UnsupportedError, match="reaches elements 2 to 6 of a dimension of 6"):
        call(text, "f", floats(6), 2)


# Shapes ---------------------------------------------------------------------------------------------------------------


def test_dimensions_are_known_where_the_type_says_so() -> None:
    text = function({"a": "tensor<4x?xf32>", "i": "index"}, "%r = tensor.dim %a, %i : tensor<4x?xf32>", "index")
    assert call(text, "f", floats(4, 3), 1) == 3
    assert call(text, "f", UNKNOWN, 0, machine=checking()) == 4
    assert call(text, "f", UNKNOWN, 1, machine=checking()) is UNKNOWN
    assert call(text, "f", UNKNOWN, UNKNOWN, machine=checking()) is UNKNOWN
    with pytest.raises(UnsupportedError, match="asks for dimension 2 of a tensor of rank 2"):
        call(text, "f", floats(4, 3), 2)


def test_casts() -> None:
    text = function(
        {"a": "tensor<?x3xf32>"}, "%r = tensor.cast %a : tensor<?x3xf32> to tensor<2x3xf32>", "tensor<2x3xf32>"
    )
    assert call(text, "f", floats(2, 3)).shape == (2, 3)
    with pytest.raises(UnsupportedError, match=r"casts a tensor of shape \(4, 3\) to tensor<2x3xf32>"):
        call(text, "f", floats(4, 3))


def test_reshapes() -> None:
    collapse = "%r = tensor.collapse_shape %a [[0], [1, 2]] : tensor<2x3x4xf32> into tensor<2x12xf32>"
    result = call(function({"a": "tensor<2x3x4xf32>"}, collapse, "tensor<2x12xf32>"), "f", floats(2, 3, 4))
    assert np.array_equal(result, floats(2, 12))

    expand = (
        "%r = tensor.expand_shape %a [[0], [1, 2]] output_shape [2, %n, 4] : tensor<2x?xf32> into tensor<2x?x4xf32>"
    )
    text = function({"a": "tensor<2x?xf32>", "n": "index"}, expand, "tensor<2x?x4xf32>")
    assert np.array_equal(call(text, "f", floats(2, 12), 3), floats(2, 3, 4))
    with pytest.raises(UnsupportedError, match=r"reshapes a tensor of shape \(2, 12\) to \(2, 2, 4\)"):
        call(text, "f", floats(2, 12), 2)

    reshape = "%r = tensor.reshape %a(%s) : (tensor<2x3xf32>, tensor<1xindex>) -> tensor<6xf32>"
    text = function({"a": "tensor<2x3xf32>", "s": "tensor<1xindex>"}, reshape, "tensor<6xf32>")
    assert np.array_equal(call(text, "f", floats(2, 3), np.array([6])), floats(6))


# Padding --------------------------------------------------------------------------------------------------------------

CONSTANT_PAD = """
%zero = arith.constant 7.0 : f32
%r = tensor.pad %a low[1, %n] high[0, 2] {
^bb0(%i: index, %j: index):
  tensor.yield %zero : f32
} : tensor<2x2xf32> to tensor<3x?xf32>"""

INDEXED_PAD = """
%r = tensor.pad %a low[2] high[1] {
^bb0(%i: index):
  %x = arith.index_cast %i : index to i32
  %y = arith.sitofp %x : i32 to f32
  tensor.yield %y : f32
} : tensor<3xf32> to tensor<6xf32>"""


def test_padding_with_one_value() -> None:
    text = function({"a": "tensor<2x2xf32>", "n": "index"}, CONSTANT_PAD, "tensor<3x?xf32>")
    expected = np.pad(floats(2, 2), [(1, 0), (1, 2)], constant_values=7)
    assert np.array_equal(call(text, "f", floats(2, 2), 1), expected)
    assert call(text, "f", UNKNOWN, 1, machine=checking()) is UNKNOWN
    with pytest.raises(UnsupportedError, match="pads by a negative amount"):
        call(text, "f", floats(2, 2), -1)


def test_padding_that_depends_on_the_place() -> None:
    text = function({"a": "tensor<3xf32>"}, INDEXED_PAD, "tensor<6xf32>")
    assert call(text, "f", floats(3) + 10).tolist() == [0, 1, 10, 11, 12, 5]
