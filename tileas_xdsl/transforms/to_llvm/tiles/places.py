"""
Numbers that depend on the thread by a linear map over F2, as instructions.

    offset = f(lane, warp)      ->      ((lane & 1) << 4) ^ ((lane & 2) << 5) ^ ((lane & 2) << 2) ^ (warp << 11)

Bits that move by the same distance share an `and` and a shift, so a swizzle takes three or four of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tileas_xdsl.layouts.distributed import LANE, WARP
from tileas_xdsl.transforms.to_llvm.tiles.state import Threads

Images = Mapping[str, Sequence[int]]
"""By `lane` and `warp`: the image of each bit of the number."""


def linear(threads: Threads, images: Images) -> SSAValue | None:
    """The exclusive or of the images of the bits that this thread's numbers have, i32; None where it is 0 in all."""
    return threads.once(_key(images), lambda: _combined(threads, images))


def _key(images: Images) -> tuple[object, ...]:
    return tuple((place, tuple(images.get(place, ()))) for place in (LANE, WARP))


def _combined(threads: Threads, images: Images) -> SSAValue | None:
    found: SSAValue | None = None
    for place, own in ((LANE, threads.lane), (WARP, threads.warp)):
        for distance, mask in _distances(images.get(place, ())).items():
            term = threads.compute(arith.AndIOp, own, mask)
            if distance > 0:
                term = threads.compute(arith.ShLIOp, term, distance)
            elif distance < 0:
                term = threads.compute(arith.ShRUIOp, term, -distance)
            found = term if found is None else threads.compute(arith.XOrIOp, found, term)
    return found


def _distances(images: Sequence[int]) -> dict[int, int]:
    """How far bits move -> which of them do."""
    masks: dict[int, int] = {}
    for bit, image in enumerate(images):
        for target in range(image.bit_length()):
            if image >> target & 1:
                masks[target - bit] = masks.get(target - bit, 0) | 1 << bit
    return dict(sorted(masks.items()))


@dataclass
class Offsets:
    """The offsets `f(lane, warp) ^ constant` for many constants: what depends on the thread is computed once."""

    threads: Threads
    images: Images

    def __post_init__(self) -> None:
        self._varying = 0
        for images in self.images.values():
            for image in images:
                self._varying |= image
        self._own = linear(self.threads, self.images)
        self._pointers: dict[tuple[SSAValue, int], SSAValue] = {}

    def behind(self, pointer: SSAValue, constant: int) -> SSAValue:
        """
        The pointer so many bytes behind `pointer`. Bits of the constant that differ between threads go into the offset
        by exclusive or; the others are added by the instruction that takes the pointer.
        """
        mixed = constant & self._varying
        if (pointer, mixed) not in self._pointers:
            own = self._mixed(mixed)
            self._pointers[pointer, mixed] = pointer if own is None else self.threads.shifted(pointer, own)
        return self.threads.shifted(self._pointers[pointer, mixed], constant ^ mixed)

    def _mixed(self, constant: int) -> SSAValue | None:
        """The offset for a constant, computed ahead; None where it is 0."""
        own, threads = self._own, self.threads
        if own is None or not constant:
            return own if own is not None or not constant else self.value(constant)
        return threads.once((_key(self.images), constant), lambda: threads.compute(arith.XOrIOp, own, constant))

    def value(self, constant: int) -> SSAValue:
        """The offset itself, i32."""
        if self._own is None:
            return self.threads.number(constant)
        found = self._mixed(constant)
        assert found is not None
        return found

    def index(self, constant: int) -> SSAValue:
        """The offset as an index."""
        threads = self.threads
        found = threads.once(
            (_key(self.images), constant, INDEX),
            lambda: threads.result(arith.IndexCastOp(self.value(constant), INDEX)),
        )
        assert found is not None
        return found


INDEX = IndexType()
