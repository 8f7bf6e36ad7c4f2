"""
The lines that launch a kernel which its file does not launch, ready to paste; types and sizes are guesses.

    a_desc = TensorDescriptor.from_tensor(tensor("fp16", 1024, 1024), [128, 64], layout([128, 64], gl.float16))
    matmul[(1,)](a_desc=a_desc, K=1024, STAGES=3)
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tileas_xdsl.triton.compiling import file_of_kernel
from tileas_xdsl.triton.guessing import Guess, guesses

TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "int8": "i8", "int32": "i32"}
"""Element of a tile -> how `tensor` calls it."""
DESCRIPTOR = re.compile(r"(.*_)?desc(riptor)?(_[a-z])?$")
ASKED = ("block_type", "layout")
"""What kernels ask descriptors for."""
DEPTHS = re.compile(r".*(STAGES|BUFFERS|DEPTH)$", re.IGNORECASE)
DEPTH = 3


@dataclass(frozen=True)
class Block:
    """What one copy by a descriptor moves."""

    element: str = "float16"
    shape: tuple[int, ...] = (64, 64)


def lines_of_launch(kernel: Any, function: Any) -> list[str]:
    """The last part of a Python file, which launches `kernel`, a function of Triton under its tuners."""
    guess = next(guesses(kernel, function))
    blocks = dict(_blocks(function))
    body = ["from tileas_xdsl.triton import tensor"]
    body += _descriptors(blocks, is_gluon=function.is_gluon()) if blocks else []
    arguments = (f"{name}={name if name in blocks else _value(name, guess)}" for name in function.arg_names)
    body.append(f"{function.__name__}[(1,)]({', '.join(arguments)})")
    return ['if __name__ == "__main__":', *(f"    {line}" for line in body)]


def _value(name: str, guess: Guess) -> str:
    if name in guess.constexprs:
        return repr(DEPTH if DEPTHS.match(name) else guess.constexprs[name])
    kind = guess.signature[name]
    if kind.startswith("*"):
        return f'tensor("{kind[1:]}", 1024, 1024)'
    return "1.0" if kind.startswith("fp") else "1024"


def _blocks(function: Any) -> Iterator[tuple[str, Block]]:
    """The arguments that are descriptors, by what they are called or asked for; and what they move."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function.fn)))
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in ASKED)
    asked = {node.value.id for node in attributes if isinstance(node.value, ast.Name)}
    # Functions that it calls store tiles, too, and mostly by the same names.
    stored = dict(_stored(ast.parse(Path(file_of_kernel(function)).read_text())))
    for name in function.arg_names:
        if name in asked or DESCRIPTOR.match(name):
            yield name, stored.get(name, Block())


def _stored(tree: ast.AST) -> Iterator[tuple[str, Block]]:
    """Tiles with the layout of a descriptor: `allocate_shared_memory(gl.float16, [128, 64], d.layout)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[element, ast.List(elts=extents), ast.Attribute(ast.Name(name), "layout"), *_]):
                shape = tuple(each.value for each in extents[-2:] if isinstance(each, ast.Constant))
                numbers = tuple(number for number in shape if isinstance(number, int))
                kind = element.attr if isinstance(element, ast.Attribute) and element.attr in TYPES else Block.element
                yield name, Block(kind, numbers if len(numbers) == 2 else Block.shape)
            case _:
                pass


def _descriptors(blocks: dict[str, Block], *, is_gluon: bool) -> list[str]:
    """The lines that make them."""
    if not is_gluon:
        lines = ["from triton.tools.tensor_descriptor import TensorDescriptor"]
        return lines + [f"{name} = {_descriptor(block)})" for name, block in blocks.items()]
    lines = [
        "from triton.experimental.gluon import language as gl",
        "from triton.experimental.gluon.nvidia.hopper import TensorDescriptor",
        "layout = gl.NVMMASharedLayout.get_default_for",
    ]
    made = {name: f"layout({list(block.shape)}, gl.{block.element})" for name, block in blocks.items()}
    return lines + [f"{name} = {_descriptor(block)}, {made[name]})" for name, block in blocks.items()]


def _descriptor(block: Block) -> str:
    return f'TensorDescriptor.from_tensor(tensor("{TYPES[block.element]}", 1024, 1024), {list(block.shape)}'
