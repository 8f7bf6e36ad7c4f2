"""
What a kernel may be launched with, of which only the code is there. An argument is a pointer if something is loaded
from it, or from what is computed from it; the others are numbers. Constants are those of the first configuration of its
tuner, and sizes by their names; switches are off.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ATOMICS = ("atomic_add", "atomic_max", "atomic_cas", "atomic_xchg")
ACCESSES = ("load", "store", "make_block_ptr", "make_tensor_descriptor", *ATOMICS)
"""Functions of Triton whose first argument is an address."""
SIZES = {
    **dict.fromkeys(("H", "HV", "HK", "HQ", "BH", "NC", "NS", "W"), 4),
    **dict.fromkeys(("K", "V", "D"), 128),
    **dict.fromkeys(("S", "M", "N", "BT", "BS", "BK", "BV", "BD", "BN", "BM"), 64),
    **dict.fromkeys(("G", "R", "BG", "NG"), 1),
    **{"B": 2, "T": 2048, "BC": 16, "NK": 2, "NV": 2, "NT": 32},
}
"""Sizes by the names that these libraries give to them."""
NUMBERS = re.compile(r"(.*stride.*|[A-Z]\w?|n_\w+|num_\w+|.*_cols|.*_rows|.*_size|total_\w+|max_\w+|.*_len)$")
FLOATS = re.compile(r"(.*scale.*|eps.*|alpha|beta|.*norm|temperature|softcap|.*_weight|dropout.*|p|lr|gamma)$")
INDICES = re.compile(r".*(seqlens|indices|offsets?|idx|targets?|index|counts?|block_table|labels?|lens?)$")


@dataclass(frozen=True)
class Guess:
    """What a kernel is compiled with."""

    signature: dict[str, str]
    constexprs: dict[str, Any]
    options: dict[str, Any]


def guesses(kernel: Any, function: Any) -> Iterator[Guess]:
    """What `kernel`, a function of Triton under its tuners, may be compiled with; the likeliest first."""
    config = _first_configuration(kernel)
    pointers = _pointers(function)
    options = {"num_warps": config.get("num_warps", 4), "num_stages": max(2, config.get("num_stages", 3))}
    for element, switches in (("bf16", False), ("fp32", False), ("bf16", True), ("fp32", True), ("fp16", False)):
        signature: dict[str, str] = {}
        constants: dict[str, Any] = {}
        for parameter in function.params:
            name = parameter.name
            if parameter.is_constexpr:
                constants[name] = config.get(name, _constant(name, parameter, switches))
            elif name in pointers:
                signature[name] = "*i64" if INDICES.match(name) else f"*{element}"
            else:
                signature[name] = "fp32" if FLOATS.match(name) else "i32"
        yield Guess(signature, constants, options)


def _constant(name: str, parameter: Any, switches: bool) -> Any:
    if parameter.has_default and parameter.default is not None:
        return parameter.default
    if name in SIZES:
        return SIZES[name]
    if name.startswith(("BLOCK", "BS_", "BT_", "BD_", "BK_", "BLK")) or "BLOCK" in name:
        return 64
    if NUMBERS.match(name) or name.startswith(("NUM_", "N_")) or name.endswith(("_SIZE", "_DIM", "_dim")):
        return 64
    return switches


def _first_configuration(kernel: Any) -> Mapping[str, Any]:
    """The constants and options of the configuration in the middle of those of a tuner."""
    layer = kernel
    while layer is not None:
        configurations = getattr(layer, "configs", None)
        if configurations:
            return configurations[len(configurations) // 2].all_kwargs()
        layer = getattr(layer, "fn", None)
    return {}


def _pointers(function: Any) -> set[str]:
    """The names of arguments from which addresses are computed."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn)))
    feeds: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value):
                for name in _names(target):
                    feeds.setdefault(name, set()).update(_leftmost(value))
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                feeds.setdefault(name, set()).update(_leftmost(value))
            case ast.Call(func=ast.Attribute(attr=attr), args=[first, *_]) if attr in ACCESSES:
                found.update(_leftmost(first))
            case ast.Call(func=ast.Name(), args=arguments):
                # Of a function of the library: what is called like a pointer.
                found.update(a.id for a in arguments if isinstance(a, ast.Name) and re.search(r"ptr|_p$", a.id))
            case _:
                pass
    stack = list(found)
    while stack:
        for name in feeds.get(stack.pop(), ()):
            if name not in found:
                found.add(name)
                stack.append(name)
    named = {p.name for p in function.params if re.search(r"(ptr|_p|Ptr)$", p.name)}
    return found | named


def _names(target: ast.expr) -> list[str]:
    match target:
        case ast.Name(id=name):
            return [name]
        case ast.Tuple(elts=parts):
            return [name for part in parts for name in _names(part)]
        case _:
            return []


def _leftmost(value: ast.expr) -> set[str]:
    """The names at which the sums in `value` begin, where an address stands: `p` of `p + (i * n)[:, None]`."""
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _leftmost(left) | (_leftmost(right) if isinstance(left, ast.BinOp | ast.Constant) else set())
        case ast.Tuple(elts=parts):
            return set[str]().union(*map(_leftmost, parts))
        case ast.IfExp(body=body, orelse=other):
            return _leftmost(body) | _leftmost(other)
        case ast.Call(func=ast.Attribute(value=inner, attr="to"), args=_):
            return _leftmost(inner)
        case ast.Call(func=ast.Attribute(attr="make_block_ptr" | "advance" | "multiple_of" | "cast"), args=[first, *_]):
            return _leftmost(first)
        case _:
            return set()
