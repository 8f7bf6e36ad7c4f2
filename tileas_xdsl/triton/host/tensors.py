"""
Tensors that have a type, a shape and strides, and no elements.

Triton asks a tensor for `dtype`, `shape`, `stride()` and `data_ptr()` (`triton.runtime.jit`). The code around a launch
asks for more: views give views, arithmetic gives what has the shape of both operands, and a number that is read out of
a tensor is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, zip_longest
from math import prod
from operator import mul
from typing import Any, cast

from tileas_xdsl.tools.errors import InputError

ALIGNED = 1 << 12
"""The address of every tensor: as aligned as those of torch."""

DTYPES = {
    "i1": ("bool", 1),
    **{f"i{bits}": (f"int{bits}", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (f"uint{bits}", bits // 8) for bits in (8, 16, 32, 64)},
    "fp16": ("float16", 2),
    "bf16": ("bfloat16", 2),
    "fp32": ("float32", 4),
    "fp64": ("float64", 8),
    "fp8e4nv": ("float8_e4m3fn", 1),
    "fp8e4b8": ("float8_e4m3fnuz", 1),
    "fp8e5": ("float8_e5m2", 1),
    "fp8e5b16": ("float8_e5m2fnuz", 1),
}
"""Triton's name of a type -> torch's name, and bytes of an element."""


@dataclass(frozen=True)
class DType:
    """The type of elements, called as torch calls it."""

    name: str
    itemsize: int

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    @property
    def is_signed(self) -> bool:
        return not self.name.startswith(("uint", "bool"))

    @property
    def is_complex(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


TYPES = {theirs: DType(theirs, size) for theirs, size in DTYPES.values()}
"""By the names of torch."""
BOOL, LONG, FLOAT = TYPES["bool"], TYPES["int64"], TYPES["float32"]


class Device:
    """Where a tensor is, called as torch calls it: `cuda:0`."""

    def __init__(self, name: Any = "cuda", index: int = 0) -> None:
        kind, _, number = str(name).partition(":")
        self.type = "cuda" if kind.isdecimal() else kind
        self.index = int(number or index)

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        """A device is what it is called, and the first one of its type."""
        return str(other) in (self.type, str(self))

    def __hash__(self) -> int:
        return hash(self.type)


GPU = Device()
TO_TYPE = {
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "char": "int8",
    "byte": "uint8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
}
"""Method -> type of the elements of its result; in torch these are names of the types, too."""
REDUCTIONS = (
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "norm",
    "var",
    "std",
    "all",
    "any",
    "logsumexp",
    "argmax",
    "argmin",
)
WITH_INDICES = ("max", "min", "sort", "topk", "median", "mode", "kthvalue")
"""With a dimension these give values and indices."""
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "isclose", "logical_not")
PRODUCTS = ("matmul", "mm", "bmm", "mv", "dot")
NO_METHODS = ("tma_desc_cpu_ptr", "numpy", "fn")
"""Names by which libraries tell what an object is."""


def in_rows(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of row-major order."""
    return tuple(accumulate(tuple(shape)[:0:-1], mul, initial=1))[::-1] if shape else ()


def joint_shape(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """What two shapes are broadcast to."""
    pairs = zip_longest(reversed(first), reversed(second), fillvalue=1)
    return tuple(b if a == 1 else a for a, b in pairs)[::-1]


def joint_type(first: DType, second: object) -> DType:
    """The type of elements of a sum: floats win, then what is wider; numbers of Python change integers at most."""
    if isinstance(second, DType):
        return max(first, second, key=lambda each: (each.is_floating_point, each.itemsize))
    return FLOAT if isinstance(second, float) and not first.is_floating_point else first


@dataclass(eq=False)
class Tensor:
    """A tensor without elements, in row-major order unless its strides say otherwise."""

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    backward_of: Any = field(default=None, repr=False)
    """Of the result of an `autograd.Function`: what to call for its gradient."""
    requires_grad: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.strides) != len(self.shape):
            self.strides = in_rows(self.shape)

    # What Triton asks for

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one index to the next, of one axis or of all."""
        return self.strides if dim is None else self.strides[dim]

    def data_ptr(self) -> int:
        return ALIGNED

    def element_size(self) -> int:
        """Bytes."""
        return self.dtype.itemsize

    # Its form

    def numel(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    nelement = numel

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return len(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.numel() * self.dtype.itemsize

    @property
    def device(self) -> Device:
        return GPU

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def grad(self) -> Tensor:
        """Of the same form."""
        return Tensor(self.dtype, self.shape)

    @grad.setter
    def grad(self, value: object) -> None:
        """There are no elements."""

    @property
    def data(self) -> Tensor:
        return self

    def is_contiguous(self, *_args: object, **_options: object) -> bool:
        return self.strides == in_rows(self.shape)

    def contiguous(self, *_args: object, **_options: object) -> Tensor:
        return Tensor(self.dtype, self.shape)

    # Views

    @property
    def T(self) -> Tensor:
        return self.permute(*reversed(range(self.ndim)))

    @property
    def mT(self) -> Tensor:
        return self.transpose(-1, -2)

    def t(self) -> Tensor:
        return self.T

    def transpose(self, first: int, second: int) -> Tensor:
        axes = list(range(self.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.permute(*axes)

    swapaxes = transpose

    def permute(self, *axes: Any) -> Tensor:
        order = _flat(axes)
        return replace(
            self,
            shape=tuple(self.shape[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
            backward_of=None,
        )

    def reshape(self, *shape: Any) -> Tensor:
        extents = _flat(shape)
        known = prod(extent for extent in extents if extent != -1)
        return Tensor(self.dtype, tuple(self.numel() // max(known, 1) if each == -1 else each for each in extents))

    def view(self, *shape: Any) -> Tensor:
        """Another shape, or the same bytes as elements of another type."""
        if len(shape) != 1 or not isinstance(shape[0], DType):
            return self.reshape(*shape)
        last = self.shape[-1] * self.dtype.itemsize // shape[0].itemsize if self.shape else 1
        return Tensor(shape[0], (*self.shape[:-1], last)[: self.ndim])

    def view_as(self, other: Tensor) -> Tensor:
        return self.reshape(other.shape)

    reshape_as = view_as

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        begin, end = start_dim % max(self.ndim, 1), end_dim % max(self.ndim, 1) + 1
        return Tensor(self.dtype, (*self.shape[:begin], prod(self.shape[begin:end]), *self.shape[end:]))

    def ravel(self) -> Tensor:
        return self.reshape(-1)

    def unsqueeze(self, dim: int) -> Tensor:
        at = dim % (self.ndim + 1)
        return self._with([*self._axes()[:at], (1, 1), *self._axes()[at:]])

    def squeeze(self, dim: int | None = None) -> Tensor:
        dropped = {dim % max(self.ndim, 1)} if dim is not None else set(range(self.ndim))
        return self._with([axis for at, axis in enumerate(self._axes()) if at not in dropped or axis[0] != 1])

    def expand(self, *shape: Any) -> Tensor:
        extents = _flat(shape)
        axes = [(1, 0)] * (len(extents) - self.ndim) + self._axes()
        return self._with(
            [
                (own, stride) if extent in (-1, own) else (extent, 0)
                for extent, (own, stride) in zip(extents, axes, strict=True)
            ]
        )

    broadcast_to = expand

    def expand_as(self, other: Tensor) -> Tensor:
        return self.expand(other.shape)

    def repeat(self, *times: Any) -> Tensor:
        counts = _flat(times)
        own = (1,) * (len(counts) - self.ndim) + self.shape
        return Tensor(self.dtype, tuple(extent * count for extent, count in zip(own, counts, strict=True)))

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        axes = self._axes()
        axes[dim] = (length, axes[dim][1])
        return self._with(axes)

    def select(self, dim: int, index: int) -> Tensor:
        at = dim % self.ndim
        return self._with([axis for place, axis in enumerate(self._axes()) if place != at])

    def split(self, size: Any, dim: int = 0) -> tuple[Tensor, ...]:
        extent = self.shape[dim]
        sizes = [min(size, extent - at) for at in range(0, extent, size)] if isinstance(size, int) else list(size)
        return tuple(self.narrow(dim, 0, each) for each in sizes)

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        return self.split(-(-self.shape[dim] // chunks), dim)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        return tuple(self.select(dim, index) for index in range(self.shape[dim]))

    def __getitem__(self, index: Any) -> Tensor:
        """Numbers, slices, `None` and `...`; what else is an index keeps its axis."""
        indices = list(cast("tuple[Any, ...]", index) if isinstance(index, tuple) else (index,))
        used = sum(each is not None and each is not ... for each in indices)
        rest = [slice(None)] * (self.ndim - used)
        at = next((place for place, each in enumerate(indices) if each is ...), None)
        indices = [*indices, *rest] if at is None else [*indices[:at], *rest, *indices[at + 1 :]]
        axes = iter(self._axes())
        kept: list[tuple[int, int]] = []
        for each in indices:
            if each is None:
                kept.append((1, 1))
                continue
            extent, stride = next(axes)
            if isinstance(each, slice):
                steps = range(extent)[each]
                kept.append((len(steps), stride * abs(steps.step)))
            elif not isinstance(each, int):
                kept.append((each.shape[0] if isinstance(each, Tensor) and each.shape else extent, stride))
        return self._with(kept)

    def __setitem__(self, _index: Any, _value: Any) -> None:
        """There are no elements."""

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def _axes(self) -> list[tuple[int, int]]:
        return list(zip(self.shape, self.strides, strict=True))

    def _with(self, axes: Sequence[tuple[int, int]]) -> Tensor:
        return Tensor(self.dtype, tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes))

    # What is computed

    def to(self, *args: Any, **options: Any) -> Tensor:
        """Elements of another type, if one is named."""
        given = [each for each in (*args, *options.values()) if isinstance(each, DType | Tensor)]
        kinds = [each.dtype if isinstance(each, Tensor) else each for each in given]
        return replace(self, dtype=kinds[0], backward_of=None) if kinds else self

    type = type_as = to

    def new_empty(self, *shape: Any, dtype: DType | None = None, **_options: Any) -> Tensor:
        return Tensor(dtype or self.dtype, _flat(shape))

    new_zeros = new_ones = new_empty

    def new_full(self, shape: Sequence[int], _value: object, dtype: DType | None = None, **_options: Any) -> Tensor:
        return Tensor(dtype or self.dtype, tuple(shape))

    def new_tensor(self, data: Any, **_options: Any) -> Tensor:
        return Tensor(self.dtype, (len(cast("Sequence[Any]", data)),) if isinstance(data, Sequence) else ())

    def with_other(self, other: Any) -> Tensor:
        """A sum, difference or the like."""
        shape = joint_shape(self.shape, other.shape) if isinstance(other, Tensor) else self.shape
        return Tensor(joint_type(self.dtype, getattr(other, "dtype", other)), shape)

    def compared(self, other: Any = None) -> Tensor:
        return replace(self.with_other(other), dtype=BOOL)

    def product(self, other: Tensor) -> Tensor:
        """Of matrices, or of stacks of them."""
        if self.ndim < 2 or other.ndim < 2:
            return Tensor(self.dtype, self.shape[:-1] + other.shape[1:])
        stack = joint_shape(self.shape[:-2], other.shape[:-2])
        return Tensor(joint_type(self.dtype, other.dtype), (*stack, self.shape[-2], other.shape[-1]))

    def reduced(self, dim: Any = None, keepdim: bool = False, dtype: DType | None = None, **_options: Any) -> Tensor:
        """A sum or the like along some axes, or along all."""
        if dim is None:
            return Tensor(dtype or self.dtype, ())
        gone = {axis % max(self.ndim, 1) for axis in _flat((dim,))}
        kept = [1 if at in gone else extent for at, extent in enumerate(self.shape) if keepdim or at not in gone]
        return Tensor(dtype or self.dtype, tuple(kept))

    def with_indices(self, dim: Any = None, *_args: Any, **options: Any) -> Any:
        if dim is None and "dim" not in options:
            return self.reduced()
        values = self.reduced(options.get("dim", dim), options.get("keepdim", False))
        return values, replace(values, dtype=LONG)

    def backward(self, *gradients: Any, **_options: Any) -> None:
        """Launch what computes the gradients, if this comes from an `autograd.Function`."""
        if self.backward_of is not None:
            self.backward_of(*(gradients or (Tensor(self.dtype, self.shape),)))

    def item(self) -> int:
        return 0

    def tolist(self) -> list[int]:
        return [0] * self.numel()

    def __bool__(self) -> bool:
        """What is asserted of numbers holds."""
        return True

    def __int__(self) -> int:
        return 0

    __index__ = __int__

    def __float__(self) -> float:
        return 0.0

    def __format__(self, spec: str) -> str:
        return format(0.0, spec) if spec else str(self)

    def __neg__(self) -> Tensor:
        return Tensor(self.dtype, self.shape)

    __pos__ = __abs__ = __invert__ = __neg__

    def __matmul__(self, other: Tensor) -> Tensor:
        return self.product(other)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = with_other
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = with_other
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __lshift__ = __rshift__ = with_other
    __lt__ = __le__ = __gt__ = __ge__ = compared

    def __eq__(self, other: object) -> Any:
        return self.compared(other)

    def __ne__(self, other: object) -> Any:
        return self.compared(other)

    def __hash__(self) -> int:
        return id(self)

    def __getattr__(self, name: str) -> Any:
        """A method that is not named above gives what has the form of its operands."""
        if name.startswith("_") or name in NO_METHODS:
            raise AttributeError(name)
        if name in TO_TYPE:
            return lambda *_args, **_options: self.to(TYPES[TO_TYPE[name]])  # pyright: ignore
        if name in PRODUCTS:
            return self.product
        if name in REDUCTIONS:
            return self.reduced
        if name in WITH_INDICES:
            return self.with_indices
        if name in COMPARISONS:
            return self.compared
        if name.endswith("_"):
            return lambda *_args, **_options: self  # pyright: ignore
        return self._like_operands

    def _like_operands(self, *args: Any, **_options: Any) -> Tensor:
        return self.with_other(next((each for each in args if isinstance(each, Tensor)), None))


def _flat(numbers: Sequence[Any]) -> tuple[int, ...]:
    """`(2, 3)` of `2, 3` and of `(2, 3)`."""
    found: list[int] = []
    for each in numbers:
        found.extend(map(int, cast("Sequence[Any]", each)) if isinstance(each, Sequence) else [int(each)])
    return tuple(found)


def tensor(dtype: str, *shape: int) -> Tensor:
    """
    A tensor for launches that are only checked: `tensor("fp16", 512, 512)`. It has no elements.

    `dtype` is what Triton calls it in signatures (`fp16`, `i32`), or torch. Raises `InputError` for another.
    """
    known = {**DTYPES, **{theirs: (theirs, size) for theirs, size in DTYPES.values()}}
    if dtype not in known:
        raise InputError([f"error: '{dtype}' is no type of elements; there are: {', '.join(DTYPES)}"])
    return Tensor(TYPES[known[dtype][0]], shape)
