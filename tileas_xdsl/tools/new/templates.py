"""The files of new packages, with `@NAME@` where a name goes."""

from __future__ import annotations

PROJECT = """\
[build-system]
requires = ["setuptools>=61"]
build-backend = "setuptools.build_meta"

[project]
name = "@PACKAGE@"
version = "0.1"
dependencies = ["tileas-xdsl", "lit", "filecheck"]

[project.entry-points."xdsl.universe"]
@PACKAGE@ = "@PACKAGE@_universe:@UPPER@"

[tool.setuptools]
py-modules = ["@PACKAGE@_universe", "@PACKAGE@"]
"""

LIT = '''\
"""lit configuration: the commands are those of the interpreter that runs lit. `lit -v @PACKAGE@/tests`"""

import os
import sys
from pathlib import Path

import lit.formats

config.name = "@PACKAGE@"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parents[1] / "build" / "lit")
config.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
if "PYTHONPATH" in os.environ:
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
'''

UNIVERSE_HEAD = '''\
"""What `xdsl-opt` and `tileas` find. It is imported at each of their starts, so it imports nothing itself."""

from xdsl.universe import Universe

'''
UNIVERSE_DIALECT = """
def dialect():
    from @PACKAGE@ import @DIALECT@

    return @DIALECT@

"""
UNIVERSE_PASS = """
def rewrite():
    from @PACKAGE@ import @PassClass@

    return @PassClass@

"""
DIALECT_ROW = 'all_dialects={"@PACKAGE@": dialect}'
PASS_ROW = 'all_passes={"@PASS@": rewrite}'


def universe(*, has_dialect: bool, has_pass: bool) -> str:
    parts = [UNIVERSE_HEAD, UNIVERSE_DIALECT * has_dialect, UNIVERSE_PASS * has_pass]
    rows = [DIALECT_ROW] * has_dialect + [PASS_ROW] * has_pass
    return f"{''.join(parts)}\n@UPPER@ = Universe({', '.join(rows)})\n"


OP_IMPORTS = """\
from typing import ClassVar

from xdsl.dialects.builtin import AnyFloatConstr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from tileas_xdsl.machine.core.meaning import pure
"""
OP_BODY = '''

@irdl_op_definition
class @OpClass@(IRDLOperation):
    """Twice a number: `%y = @PACKAGE@.@OPNAME@ %x : f32`."""

    name = "@PACKAGE@.@OPNAME@"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    x = operand_def(T)
    y = result_def(T)
    # Pure: passes may move it, and remove it where nothing uses its result.
    traits = traits_def(Pure())
    assembly_format = "$x attr-dict `:` type($x)"


@DIALECT@ = Dialect("@PACKAGE@", [@OpClass@], [])


@pure(@OpClass@)
def _meaning(_agent, _op, x):
    """What `tileas run` and `tileas check` take it for: the numbers of the operands go in, those of the results out."""
    return x  # TODO: twice as much. The test of `tileas run` fails until then.
'''
OP_TEST = """\
// RUN: tileas opt %s | filecheck %s --check-prefix=TEXT
// RUN: tileas run %s --arg src=iota --arg out=zeros | filecheck %s --check-prefix=NUMBERS
// RUN: tileas check %s

func.func @numbers(%src: memref<4xf32>, %out: memref<4xf32>) {
  %c3 = arith.constant 3 : index
  %x = memref.load %src[%c3] : memref<4xf32>
  %y = @PACKAGE@.@OPNAME@ %x : f32
  memref.store %y, %out[%c3] : memref<4xf32>
  func.return
}

// TEXT: %y = @PACKAGE@.@OPNAME@ %x : f32

// NUMBERS:      out : 4xfloat32 =
// NUMBERS-NEXT: [0. 0. 0. 6.]
"""
PASS_IMPORTS = """\
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
"""
PASS_BODY = '''

def planned(module: ModuleOp) -> list[arith.AddfOp]:
    """The ops that the pass rewrites. Plan first, then rewrite: a test can ask this alone."""
    return []  # TODO: sums of a number and itself. The test of the pass fails until then.


@dataclass(frozen=True)
class @PassClass@(ModulePass):
    """
    Write the sum of a number and itself as `@PACKAGE@.@OPNAME@`.

    Rewrites: `arith.addf %x, %x` -> `@PACKAGE@.@OPNAME@ %x`. Requires, refuses: nothing.
    """

    name = "@PASS@"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for sum_ in planned(op):
            Rewriter.replace_op(sum_, @OpClass@.create(operands=[sum_.lhs], result_types=[sum_.result.type]))
'''
PASS_TEST = """\
// RUN: tileas opt %s -p @PASS@ | filecheck %s
// RUN: tileas opt %s -p @PASS@ | tileas check -

func.func @sums(%src: memref<4xf32>, %out: memref<4xf32>) {
  %c3 = arith.constant 3 : index
  %x = memref.load %src[%c3] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %out[%c3] : memref<4xf32>
  func.return
}

// CHECK: @PACKAGE@.@OPNAME@ %x
"""
ASYNC_OPS = '''\
"""
Copies that complete later: `@PACKAGE@.@OPNAME@` issues one, and `@PACKAGE@.wait` waits for its token.

    %token = @PACKAGE@.@OPNAME@ %from, %to : memref<4xf32>, memref<4xf32, 3>
    @PACKAGE@.wait %token
"""

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Dialect, ParametrizedAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tileas_xdsl.interfaces import HandleType
from tileas_xdsl.machine.core.asynchronous_work import Touch
from tileas_xdsl.machine.core.meaning import suspends, sync
from tileas_xdsl.machine.core.synchronization import EventCondition
from tileas_xdsl.machine.tiles.numerics import view_of


@irdl_attr_definition
class TokenType(ParametrizedAttribute, HandleType):
    """`!@PACKAGE@.token`: what a copy gives, and a wait takes. The machine never leaves a handle unknown."""

    name = "@PACKAGE@.token"


@irdl_op_definition
class @OpClass@(IRDLOperation):
    """Copy `source` to `target`; `token` completes with the copy."""

    name = "@PACKAGE@.@OPNAME@"

    source = operand_def(MemRefType)
    target = operand_def(MemRefType)
    token = result_def(TokenType())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$source `,` $target attr-dict `:` type($source) `,` type($target)"


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Wait until the copy of `token` is complete."""

    name = "@PACKAGE@.wait"

    token = operand_def(TokenType())
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$token attr-dict"


@DIALECT@ = Dialect("@PACKAGE@", [@OpClass@, WaitOp], [TokenType])


@sync(@OpClass@)
def _start(agent, op, source, target):
    """
    Issue the work. `Touch` says which bytes it reads and writes, so that races are found; it is performed at some time
    until something waits for it: `fetch` reads the source then, and `deliver` writes the target.
    """
    machine = agent.machine
    read, written = view_of(agent, op, source), view_of(agent, op, target)
    work = agent.issue(
        op,
        [Touch(read, False), Touch(written, True)],
        None,
        label=f"a copy to '{written.base.name}'",
        fetch=lambda: machine.read(read),
        deliver=lambda data: machine.write(written, data),
    )
    return machine.event_of(work, op.name)


@suspends(WaitOp)
def _wait(agent, op, token):
    """A wait returns what it waits for: the machine goes on with other agents until the condition holds."""
    return None  # TODO: return agent.wait(EventCondition(token), op). Until then `tileas check` finds a race.
'''
ASYNC_TEST = """\
// RUN: tileas opt %s | filecheck %s --check-prefix=TEXT
// RUN: tileas check %s | filecheck %s --check-prefix=VERDICT

func.func @copied(%src: memref<4xf32>, %out: memref<4xf32>) {
  %c3 = arith.constant 3 : index
  %tile = memref.alloc() : memref<4xf32, 3>
  %token = @PACKAGE@.@OPNAME@ %src, %tile : memref<4xf32>, memref<4xf32, 3>
  @PACKAGE@.wait %token
  %x = memref.load %tile[%c3] : memref<4xf32, 3>
  memref.store %x, %out[%c3] : memref<4xf32>
  func.return
}

// TEXT: %token = @PACKAGE@.@OPNAME@ %src, %tile : memref<4xf32>, memref<4xf32, 3
// VERDICT: safe
"""
QUEUE_PASS = '''\
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tileas_xdsl.dialects.async_queue import WaitOp


def planned(module: ModuleOp) -> list[WaitOp]:
    """
    The waits that the pass removes. Plan first, then rewrite: a test can ask this alone.

    `wait.queue` and `wait.count` are integers, or values that are computed. What stands in the region of a wait would
    go with it.
    """
    return []  # TODO: empty waits right behind one for the same queue and count. The test fails until then.


@dataclass(frozen=True)
class @PassClass@(ModulePass):
    """
    Remove a wait right behind one that is equal.

    Rewrites: two equal waits, one behind the other -> the first. Requires, refuses: nothing.
    """

    name = "@PASS@"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for wait in planned(op):
            Rewriter.erase_op(wait)
'''
QUEUE_TEST = """\
// Verdicts and numbers stay; then what is written instead.
// RUN: tileas try -p @PASS@ %s
// RUN: tileas opt %s -p @PASS@ | filecheck %s

func.func @twice(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %s = memref.load %src[%i] : memref<66xf32>
        memref.store %s, %tile[%c0] : memref<1xf32, 3>
      }
    }
    async_queue.wait 0, 0
    async_queue.wait 0, 0
    %x = memref.load %tile[%c0] : memref<1xf32, 3>
    memref.store %x, %out[%i] : memref<64xf32>
  }
  func.return
}

// CHECK-LABEL: @twice
// CHECK:         async_queue.wait 0, 0
// CHECK-NOT:     async_queue.wait

// A group is committed between the two: both stay.
func.func @kept(%src: memref<66xf32>, %out: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = memref.alloc() : memref<1xf32, 3>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.wait 0, 0
    async_queue.commit 0 {
      async_queue.scope {
        %s = memref.load %src[%i] : memref<66xf32>
        memref.store %s, %tile[%c0] : memref<1xf32, 3>
      }
    }
    async_queue.wait 0, 0
    %x = memref.load %tile[%c0] : memref<1xf32, 3>
    memref.store %x, %out[%i] : memref<64xf32>
  }
  func.return
}

// CHECK-LABEL: @kept
// CHECK:         async_queue.wait 0, 0
// CHECK:         async_queue.wait 0, 0
"""
COMMON = {"pyproject.toml": PROJECT, "tests/lit.cfg.py": LIT}


FILES: dict[str, dict[str, str]] = {
    "op": {
        **COMMON,
        "@PACKAGE@_universe.py": universe(has_dialect=True, has_pass=False),
        "@PACKAGE@.py": OP_IMPORTS + OP_BODY,
        "tests/@OPNAME@.mlir": OP_TEST,
    },
    "async-op": {
        **COMMON,
        "@PACKAGE@_universe.py": universe(has_dialect=True, has_pass=False),
        "@PACKAGE@.py": ASYNC_OPS,
        "tests/@OPNAME@.mlir": ASYNC_TEST,
    },
    "pass": {
        **COMMON,
        "@PACKAGE@_universe.py": universe(has_dialect=False, has_pass=True),
        "@PACKAGE@.py": QUEUE_PASS,
        "tests/@PASS@.mlir": QUEUE_TEST,
    },
    "package": {
        **COMMON,
        "@PACKAGE@_universe.py": universe(has_dialect=True, has_pass=True),
        "@PACKAGE@.py": PASS_IMPORTS.replace(
            "\nfrom xdsl.context", "from typing import ClassVar\n\nfrom xdsl.context", 1
        )
        .replace("import ModuleOp", "import AnyFloatConstr, ModuleOp")
        .replace(
            "from xdsl.passes",
            "from xdsl.ir import Dialect\n"
            "from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, "
            "operand_def, result_def, traits_def\n"
            "from xdsl.passes",
        )
        + "from xdsl.traits import Pure\n\nfrom tileas_xdsl.machine.core.meaning import pure\n"
        + OP_BODY
        + PASS_BODY,
        "tests/@OPNAME@.mlir": OP_TEST,
        "tests/@PASS@.mlir": PASS_TEST,
    },
}
"""Kind -> file name -> text."""
KINDS = tuple(FILES)
