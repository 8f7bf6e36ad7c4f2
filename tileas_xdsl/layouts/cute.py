"""
CuTe's notation for layouts: `(8,(2,4)):(4,(32,1))`, shapes and strides; `Sw<3,4,3> o (8,64):(64,1)`, swizzled.

A shape and its strides map a coordinate to an offset: the sum of digit times stride, the digits of a coordinate being
taken from the left, fastest first. Such a sum is linear over F2 where no two digits meet in one bit: where each extent
is a power of two and each stride is one or 0. That is the subset that is read and printed here; the rest of CuTe's
layouts (extents that are no powers of two, strides that carry) is refused.

Reference: NVIDIA, CUTLASS, CuTe Layouts (media/docs/cpp/cute/01_layout.md); the swizzle is `Swizzle<B,M,S>` of
include/cute/swizzle.hpp: bits M..M+B of the offset are xored with those S above them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tileas_xdsl.layouts.errors import LayoutError, exponent
from tileas_xdsl.layouts.linear import LinearLayout

Nest = int | tuple["Nest", ...]
"""A shape or its strides: a number, or one for each mode."""

TOKEN = re.compile(r"\s*(\d+|[(),:]|Sw<\s*\d+\s*,\s*-?\d+\s*,\s*\d+\s*>|o\b)")


@dataclass(frozen=True)
class Swizzle:
    """`Sw<bits, base, shift>`: bits base..base+bits of an offset, xored with the bits `shift` above them."""

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits and self.shift < self.bits:
            raise LayoutError(f"{self} xors bits with themselves: the shift is at least {self.bits}")

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __call__(self, offset: int) -> int:
        mask = ((1 << self.bits) - 1) << (self.base + self.shift)
        return offset ^ (offset & mask) >> self.shift


@dataclass(frozen=True)
class CuteLayout:
    """A shape and strides of the same nesting, and a swizzle behind them."""

    shape: Nest
    stride: Nest
    swizzle: Swizzle = Swizzle(0, 4, 3)

    def __str__(self) -> str:
        front = f"{self.swizzle} o " if self.swizzle.bits else ""
        return f"{front}{_printed(self.shape)}:{_printed(self.stride)}"

    @property
    def modes(self) -> tuple[tuple[int, int], ...]:
        """Extent and stride of every digit, fastest first."""
        return tuple(_pairs(self.shape, self.stride))

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        size = 1
        for extent, _ in self.modes:
            size *= extent
        return size

    def __call__(self, index: int) -> int:
        """The offset of the coordinate with this number, in CuTe's order (the first mode is the fastest)."""
        offset = 0
        for extent, stride in self.modes:
            offset, index = offset + index % extent * stride, index // extent
        return self.swizzle(offset)

    def linear(self) -> LinearLayout:
        """
        The same map over bits, from the inputs `mode0`, `mode1`, ... of the outermost nesting to `offset`. Raises
        `LayoutError` where it is not linear over F2.
        """
        shapes = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        strides = self.stride if isinstance(self.stride, tuple) else (self.stride,)
        inputs = {f"mode{i}": _images(s, d) for i, (s, d) in enumerate(zip(shapes, strides, strict=True))}
        images = [image for its in inputs.values() for image in its if image]
        if len(set(images)) < len(images):
            raise LayoutError(f"the strides of {self} carry: two digits meet in one bit of the offset")
        bits = max((image.bit_length() for image in images), default=0)
        swizzled = {name: [(self.swizzle(image),) for image in its] for name, its in inputs.items()}
        return LinearLayout.of(swizzled, {"offset": 1 << bits})


def read_cute(text: str) -> CuteLayout:
    """The layout that CuTe prints so. Raises `LayoutError` for what is no layout in this notation."""
    tokens = list(_tokens(text))
    swizzle = Swizzle(0, 4, 3)
    if tokens and tokens[0].startswith("Sw<"):
        swizzle = Swizzle(*map(int, re.findall(r"-?\d+", tokens.pop(0))))
        _expect(tokens, "o", text)
    shape = _nest(tokens, text)
    _expect(tokens, ":", text)
    stride = _nest(tokens, text)
    if tokens:
        raise LayoutError(f"'{text}' goes on behind the strides, with '{tokens[0]}'")
    if not _congruent(shape, stride):
        raise LayoutError(f"in '{text}' shape and strides are not nested alike")
    return CuteLayout(shape, stride, swizzle)


def printed_as_cute(layout: LinearLayout) -> CuteLayout:
    """
    The shape and strides of a layout into one output, one mode an input, adjacent digits joined. Raises `LayoutError`
    where a place moves more than one bit of the offset: swizzles are not recovered.
    """
    if len(layout.outputs) != 1:
        raise LayoutError(f"shape and strides say one offset, not {len(layout.outputs)} coordinates")
    modes = [_mode(layout.images(name), name) for name in layout.input_names]
    shapes = tuple(_joined([extent for extent, _ in mode]) for mode in modes)
    strides = tuple(_joined([stride for _, stride in mode]) for mode in modes)
    return CuteLayout(_joined(shapes), _joined(strides))


def _joined(parts: Sequence[Nest]) -> Nest:
    """The nesting of the parts; a single part stands alone."""
    return parts[0] if len(parts) == 1 else tuple(parts)


def _mode(images: Sequence[int], name: str) -> list[tuple[int, int]]:
    digits: list[tuple[int, int]] = []
    for image in images:
        if image & (image - 1):
            raise LayoutError(f"{name} moves several bits of the offset at once, which strides cannot say")
        if digits and (image == digits[-1][0] * digits[-1][1]):
            digits[-1] = (2 * digits[-1][0], digits[-1][1])
        else:
            digits.append((2, image))
    return digits or [(1, 0)]


def _images(shape: Nest, stride: Nest) -> list[int]:
    images: list[int] = []
    for extent, step in _pairs(shape, stride):
        if step:
            exponent(step, "a stride")
        images += [step << bit for bit in range(exponent(extent, "an extent"))]
    return images


def _pairs(shape: Nest, stride: Nest) -> Iterator[tuple[int, int]]:
    if isinstance(shape, int) and isinstance(stride, int):
        yield shape, stride
    elif isinstance(shape, tuple) and isinstance(stride, tuple):
        for inner, steps in zip(shape, stride, strict=True):
            yield from _pairs(inner, steps)


def _congruent(shape: Nest, stride: Nest) -> bool:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return len(shape) == len(stride) and all(map(_congruent, shape, stride))
    return isinstance(shape, int) and isinstance(stride, int)


def _printed(nest: Nest) -> str:
    return str(nest) if isinstance(nest, int) else f"({','.join(map(_printed, nest))})"


def _tokens(text: str) -> Iterator[str]:
    place = 0
    while text[place:].strip():
        match = TOKEN.match(text, place)
        if match is None:
            raise LayoutError(f"'{text}' is no layout: '{text[place:].strip()}' is not understood")
        yield match[1]
        place = match.end()


def _expect(tokens: list[str], token: str, text: str) -> None:
    if not tokens or tokens.pop(0) != token:
        raise LayoutError(f"'{text}' is no layout: '{token}' is missing")


def _nest(tokens: list[str], text: str) -> Nest:
    if not tokens:
        raise LayoutError(f"'{text}' is no layout: it ends early")
    token = tokens.pop(0)
    if token.isdigit():
        return int(token)
    if token != "(":
        raise LayoutError(f"'{text}' is no layout: '{token}' stands where a number or '(' should")
    inner = [_nest(tokens, text)]
    while tokens and tokens[0] == ",":
        tokens.pop(0)
        inner.append(_nest(tokens, text))
    _expect(tokens, ")", text)
    return tuple(inner)
