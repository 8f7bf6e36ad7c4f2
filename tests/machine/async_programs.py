"""
Programs of MLIR's `async` that are run twice: on the machine, and compiled with MLIR's own runtime.

Each is one function `@f` of small arrays and numbers. What it should compute is said in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.async_runtime import Native, arguments_of

Array = NDArray[Any]


@dataclass(frozen=True)
class Program:
    """A function `@f`, and what it leaves behind."""

    text: str
    expected: Callable[..., tuple[list[float], list[Array]]]
    """From the arguments to the results and the final contents of the arrays."""
    numbers: Mapping[int, float] = field(default_factory=dict[int, float])
    """The numbers among the arguments, by position; the arrays hold what `async_runtime.contents` says."""
    compiles: bool = True
    """False where MLIR 22 cannot lower it: `convert-async-to-llvm` refuses a token that a loop carries."""

    @property
    def native(self) -> Native:
        return Native(self.text, "f", self.numbers)

    @property
    def arguments(self) -> list[Any]:
        return arguments_of(self.native)

    @property
    def answer(self) -> tuple[list[float], list[Array]]:
        return self.expected(*self.arguments)


# The programs -------------------------------------------------------------------------------------------------------

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
"""

A_CHAIN = Program(
    f"""
func.func @f(%m: memref<4xf32>, %x: f32) -> f32 {{{CONSTANTS}
  %first = async.execute {{
    memref.store %x, %m[%c0] : memref<4xf32>
    async.yield
  }}
  %second, %promise = async.execute [%first] -> !async.value<f32> {{
    %0 = memref.load %m[%c0] : memref<4xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %m[%c1] : memref<4xf32>
    async.yield %1 : f32
  }}
  %third, %more = async.execute [%second] (%promise as %p: !async.value<f32>) -> !async.value<f32> {{
    %0 = memref.load %m[%c1] : memref<4xf32>
    %1 = arith.addf %0, %p : f32
    memref.store %1, %m[%c2] : memref<4xf32>
    async.yield %1 : f32
  }}
  async.await %third : !async.token
  %result = async.await %more : !async.value<f32>
  return %result : f32
}}
""",
    lambda m, x: ([4 * x], [np.array([x, 2 * x, 4 * x, m[3]], np.float32)]),
    numbers={1: 3.0},
)

NESTED = Program(
    f"""
func.func @f(%m: memref<4xf32>, %x: f32) -> f32 {{{CONSTANTS}
  %outer, %sum = async.execute -> !async.value<f32> {{
    %left, %a = async.execute -> !async.value<f32> {{
      %0 = memref.load %m[%c0] : memref<4xf32>
      memref.store %x, %m[%c0] : memref<4xf32>
      async.yield %0 : f32
    }}
    %right, %b = async.execute -> !async.value<f32> {{
      %inner, %c = async.execute -> !async.value<f32> {{
        %0 = memref.load %m[%c1] : memref<4xf32>
        async.yield %0 : f32
      }}
      %1 = async.await %c : !async.value<f32>
      %2 = arith.mulf %1, %x : f32
      memref.store %2, %m[%c1] : memref<4xf32>
      async.yield %2 : f32
    }}
    %3 = async.await %a : !async.value<f32>
    %4 = async.await %b : !async.value<f32>
    %5 = arith.subf %3, %4 : f32
    async.yield %5 : f32
  }}
  async.await %outer : !async.token
  %result = async.await %sum : !async.value<f32>
  return %result : f32
}}
""",
    lambda m, x: ([m[0] - x * m[1]], [np.array([x, x * m[1], m[2], m[3]], np.float32)]),
    numbers={1: 3.0},
)

A_GROUP = Program(
    f"""
func.func @f(%m: memref<4xf32>, %n: index) -> f32 {{{CONSTANTS}
  %zero = arith.constant 0.0 : f32
  %group = async.create_group %n : !async.group
  scf.for %i = %c0 to %n step %c1 {{
    %token = async.execute {{
      %0 = memref.load %m[%i] : memref<4xf32>
      %1 = arith.mulf %0, %0 : f32
      memref.store %1, %m[%i] : memref<4xf32>
      async.yield
    }}
    %rank = async.add_to_group %token, %group : !async.token
  }}
  async.await_all %group
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%sofar = %zero) -> (f32) {{
    %0 = memref.load %m[%i] : memref<4xf32>
    %1 = arith.addf %sofar, %0 : f32
    scf.yield %1 : f32
  }}
  return %sum : f32
}}
""",
    lambda m, n: ([float(np.sum(m[:n] ** 2))], [m**2]),
    numbers={1: 4},
)

FUNCTIONS = Program(
    f"""
async.func @twice(%m: memref<4xf32>, %i: index) -> (!async.token, !async.value<f32>) {{
  %0 = memref.load %m[%i] : memref<4xf32>
  %1 = arith.addf %0, %0 : f32
  memref.store %1, %m[%i] : memref<4xf32>
  return %1 : f32
}}
async.func @four_times(%m: memref<4xf32>, %i: index) -> !async.value<f32> {{
  %token, %once = call @twice(%m, %i) : (memref<4xf32>, index) -> (!async.token, !async.value<f32>)
  await %token : !async.token
  %again, %value = call @twice(%m, %i) : (memref<4xf32>, index) -> (!async.token, !async.value<f32>)
  %0 = await %value : !async.value<f32>
  return %0 : f32
}}
func.func @f(%m: memref<4xf32>) -> f32 {{{CONSTANTS}
  %a = async.call @four_times(%m, %c0) : (memref<4xf32>, index) -> !async.value<f32>
  %b = async.call @four_times(%m, %c1) : (memref<4xf32>, index) -> !async.value<f32>
  %t, %c = async.call @twice(%m, %c2) : (memref<4xf32>, index) -> (!async.token, !async.value<f32>)
  %0 = async.await %a : !async.value<f32>
  %1 = async.await %b : !async.value<f32>
  %2 = async.await %c : !async.value<f32>
  %3 = arith.addf %0, %1 : f32
  %4 = arith.addf %2, %3 : f32
  return %4 : f32
}}
""",
    lambda m: ([4 * m[0] + 4 * m[1] + 2 * m[2]], [m * np.array([4, 4, 2, 1], np.float32)]),
)

A_PROMISED_ARRAY = Program(
    f"""
func.func @f(%m: memref<4xf32>) -> f32 {{{CONSTANTS}
  %made, %array = async.execute -> !async.value<memref<4xf32>> {{
    %own = memref.alloc() : memref<4xf32>
    scf.for %i = %c0 to %c3 step %c1 {{
      %0 = memref.load %m[%i] : memref<4xf32>
      memref.store %0, %own[%i] : memref<4xf32>
    }}
    async.yield %own : memref<4xf32>
  }}
  %used, %last = async.execute (%array as %own: !async.value<memref<4xf32>>) -> !async.value<f32> {{
    %0 = memref.load %own[%c2] : memref<4xf32>
    memref.store %0, %m[%c0] : memref<4xf32>
    async.yield %0 : f32
  }}
  %result = async.await %last : !async.value<f32>
  return %result : f32
}}
""",
    lambda m: ([m[2]], [np.array([m[2], m[1], m[2], m[3]], np.float32)]),
)

A_CHAIN_IN_A_LOOP = Program(
    f"""
func.func @f(%m: memref<4xf32>, %x: f32, %n: index) {{{CONSTANTS}
  %start = async.execute {{
    memref.store %x, %m[%c0] : memref<4xf32>
    async.yield
  }}
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {{
    %next = async.execute [%before] {{
      %0 = memref.load %m[%c0] : memref<4xf32>
      %1 = arith.addf %0, %x : f32
      memref.store %1, %m[%c0] : memref<4xf32>
      async.yield
    }}
    scf.yield %next : !async.token
  }}
  async.await %end : !async.token
  return
}}
""",
    lambda m, x, n: ([], [np.array([x * (n + 1), m[1], m[2], m[3]], np.float32)]),
    numbers={1: 2.0, 2: 5},
    compiles=False,
)

PROGRAMS = {
    "a_chain": A_CHAIN,
    "nested": NESTED,
    "a_group": A_GROUP,
    "functions": FUNCTIONS,
    "a_promised_array": A_PROMISED_ARRAY,
    "a_chain_in_a_loop": A_CHAIN_IN_A_LOOP,
}
