"""
A module `torch` without torch: it makes tensors that have a type and a shape.

The result of an unknown function has the form of its first tensor; without one it is `anything`. What compares
numbers says that they agree. An `autograd.Function` runs its `forward`, and its `backward` when it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from tileas_xdsl.triton.host.anything import Anything, StandIn, thing_named
from tileas_xdsl.triton.host.driver import properties_of
from tileas_xdsl.triton.host.tensors import FLOAT, GPU, LONG, TO_TYPE, TYPES, Device, DType, Tensor

FILLED = ("empty", "zeros", "ones", "rand", "randn")
LIKE = ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "randint_like", "clone")
FLAT = ("manual_seed", "set_default_device", "set_default_dtype", "set_float32_matmul_precision", "compile")
TRUE = ("allclose", "equal", "is_tensor", "is_floating_point")
MEMORY = 80 << 30
"""Bytes of the device."""


def torch_for(target: Any) -> Mapping[str, ModuleType]:
    """The modules of torch, by their names, for a device of `target`, one of Triton's targets."""
    cuda = _Module("torch.cuda", _of_the_device(target))
    function = type("Function", (), {"apply": classmethod(_apply)})
    modules = {
        "torch.cuda": cuda,
        "torch.autograd": _Module("torch.autograd", {"Function": function}),
        "torch.nn": _Module("torch.nn", {"Module": _Layer, "Parameter": _parameter}),
        "torch.nn.functional": _Module("torch.nn.functional", {}),
        "torch.testing": _Module("torch.testing", {"assert_close": _nothing}),
        "torch.version": _Module("torch.version", _versions(target)),
    }
    inner = {name.removeprefix("torch."): module for name, module in modules.items() if name.count(".") == 1}
    modules["torch.nn"].__dict__["functional"] = modules["torch.nn.functional"]
    contents = {**_types(), **_makers(), **inner, "Tensor": Tensor, "device": Device, "dtype": DType}
    modules["torch"] = _Module("torch", {**contents, "Size": tuple, "inf": math.inf, "pi": math.pi, "nan": math.nan})
    return modules


def _parameter(data: Any, *_args: Any, **_options: Any) -> Any:
    return data


def _nothing(*_args: Any, **_options: Any) -> None:
    """What compares agrees, and what waits has waited."""


class _Module(StandIn):
    """A module whose functions give what has the form of their first tensor."""

    def make(self, name: str) -> Any:
        return _function(name) if name[0].islower() else thing_named(name)


def _function(name: str) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        tensors = list(_tensors((*args, *options.values())))
        if tensors:
            method = getattr(tensors[0], name, None)
            rest = [each for each in args if each is not tensors[0]]
            return method(*rest, **options) if callable(method) else tensors[0]
        return args[0] if len(args) == 1 and callable(args[0]) else thing_named(name)

    class Function(Anything):
        def __call__(cls, *args: Any, **options: Any) -> Any:
            return call(*args, **options)

    return Function(name, (), {"is_stand_in": True, "__module__": "torch"})


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(cast("Sequence[Any]", value))


# What there is --------------------------------------------------------------------------------------------------------


def _types() -> dict[str, Any]:
    """Of a name that is a method of tensors, too, the type counts."""
    aliases = {name: TYPES[theirs] for name, theirs in TO_TYPE.items() if name not in ("char", "byte", "bool")}
    return {**TYPES, **aliases, "strided": "strided", "contiguous_format": "contiguous"}


def _makers() -> dict[str, Callable[..., Any]]:
    """Functions that make tensors."""
    filled = {name: _filled for name in FILLED}
    like = {name: _like for name in LIKE}
    return {
        **filled,
        **like,
        **dict.fromkeys(FLAT, lambda *_args, **_options: thing_named("nothing")),  # pyright: ignore
        **dict.fromkeys(TRUE, lambda *_args, **_options: True),  # pyright: ignore
        "full": lambda size, _value=0, dtype=FLOAT, **_options: Tensor(dtype, tuple(size)),  # pyright: ignore
        "randint": _integers,
        "randperm": lambda n, dtype=LONG, **_options: Tensor(dtype, (n,)),  # pyright: ignore
        "arange": _range,
        "linspace": lambda _first, _last, steps, dtype=FLOAT, **_options: Tensor(dtype, (steps,)),  # pyright: ignore
        "eye": lambda n, m=None, dtype=FLOAT, **_options: Tensor(dtype, (n, m or n)),  # pyright: ignore
        "tensor": _tensor,
        "as_tensor": _tensor,
        "from_numpy": _tensor,
        "empty_strided": lambda size, stride, dtype=FLOAT, **_options: Tensor(dtype, tuple(size), tuple(stride)),  # pyright: ignore
        "cat": _joined,
        "concat": _joined,
        "stack": lambda tensors, dim=0: _joined([each.unsqueeze(dim) for each in tensors], dim),  # pyright: ignore
        "finfo": lambda _dtype=FLOAT: SimpleNamespace(min=-3.4e38, max=3.4e38, eps=1e-7, tiny=1e-38),  # pyright: ignore
        "iinfo": lambda _dtype=LONG: SimpleNamespace(min=-(2**31), max=2**31 - 1),  # pyright: ignore
        "numel": lambda tensor: tensor.numel(),  # pyright: ignore
        "matmul": lambda a, b, **_options: a.product(b),  # pyright: ignore
        "where": lambda _condition, *values: next(iter(_tensors(values)), _condition),  # pyright: ignore
    }


def _filled(*size: Any, dtype: DType | None = None, **options: Any) -> Tensor:
    given = size or (options.get("size", ()),)
    extents = given[0] if len(given) == 1 and not isinstance(given[0], int) else given
    return Tensor(dtype or FLOAT, tuple(map(int, cast("Any", extents))))


def _like(tensor: Tensor, *_args: Any, dtype: DType | None = None, **_options: Any) -> Tensor:
    return Tensor(dtype or tensor.dtype, tensor.shape)


def _integers(*args: Any, dtype: DType | None = None, **options: Any) -> Tensor:
    size = options.get("size", args[-1])
    return Tensor(dtype or LONG, tuple(size))


def _range(*args: Any, dtype: DType | None = None, **options: Any) -> Tensor:
    bounds = [*args, *(options[name] for name in ("start", "end", "step") if name in options)]
    kind = LONG if all(isinstance(bound, int) for bound in bounds) else FLOAT
    begin, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Tensor(dtype or kind, (max(0, math.ceil((end - begin) / step)),))


def _tensor(data: Any, dtype: DType | None = None, **_options: Any) -> Tensor:
    if isinstance(data, Tensor):
        return data.to(dtype) if dtype else data
    if hasattr(data, "shape") and hasattr(data, "dtype"):
        return Tensor(dtype or TYPES.get(str(data.dtype), FLOAT), tuple(data.shape))
    shape: list[int] = []
    while isinstance(data, list | tuple):
        parts = cast("Sequence[Any]", data)
        shape.append(len(parts))
        data = parts[0] if parts else 0.0
    kind = data.dtype if isinstance(data, Tensor) else LONG if isinstance(data, int) else FLOAT
    return Tensor(dtype or kind, tuple(shape))


def _joined(tensors: Sequence[Tensor], dim: int = 0, **_options: Any) -> Tensor:
    first = tensors[0]
    extents = list(first.shape)
    extents[dim] = sum(each.shape[dim] for each in tensors)
    return Tensor(first.dtype, tuple(extents))


# Devices, layers, gradients -------------------------------------------------------------------------------------------


def _of_the_device(target: Any) -> Mapping[str, Any]:
    """What `torch.cuda` says."""
    major, minor = divmod(target.arch, 10) if isinstance(target.arch, int) else (9, 5)
    known = properties_of(target)
    properties = SimpleNamespace(
        name=f"a device of {target.arch}",
        major=major,
        minor=minor,
        multi_processor_count=known["multiprocessor_count"],
        total_memory=MEMORY,
        shared_memory_per_block_optin=known["max_shared_mem"],
        warp_size=known["warpSize"],
        gcnArchName=str(target.arch),
    )
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: GPU.index,
        "get_device_capability": lambda *_args: (major, minor),  # pyright: ignore
        "get_device_properties": lambda *_args: properties,  # pyright: ignore
        "get_device_name": lambda *_args: properties.name,  # pyright: ignore
        "current_stream": lambda *_args: SimpleNamespace(cuda_stream=0),  # pyright: ignore
        "synchronize": _nothing,
    }


def _versions(target: Any) -> Mapping[str, Any]:
    return {"hip": None, "cuda": "13.0"} if target.backend == "cuda" else {"hip": "7.0", "cuda": None}


class _Layer:
    """`torch.nn.Module`: a call is `forward`."""

    def __init__(self, *_args: Any, **_options: Any) -> None: ...

    def __call__(self, *args: Any, **options: Any) -> Any:
        return cast("Any", self).forward(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_options: self  # pyright: ignore


class _Context:
    """What `forward` keeps for `backward`."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 64

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *_tensors: Any) -> None: ...

    mark_dirty = set_materialize_grads = mark_non_differentiable


def _apply(cls: Any, *args: Any) -> Any:
    """`autograd.Function.apply`: the result knows its `backward`."""
    context = _Context()
    result = cls.forward(context, *args)
    if not isinstance(result, Tensor) or not hasattr(cls, "backward"):
        return result
    return Tensor(result.dtype, result.shape, result.strides, lambda *gradients: cls.backward(context, *gradients))  # pyright: ignore
