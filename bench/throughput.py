"""
Parse, verify and print of our examples, per op, beside plain xDSL's cost per op on a module of the same size.

The plain module is what xDSL alone would be used for: a function of nested `scf.for` over `arith` and `memref`, as many
ops as the example has, and the same constants of tensors, each of which costs xDSL as much as many other ops. Both go
through xDSL's own parser, verifier and printer in one process. They take turns, round by round, so that what else the
computer does at the time falls on both, and the best of the rounds counts, in processor time. The ratio is the price of
our types, formats and verifiers.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, NoneAttr, TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.universe import Universe

EXAMPLES = Path(__file__).parents[1] / "examples"
ROUNDS = 12
SECONDS_A_ROUND = 0.02

LOOP = """
  scf.for %i{n} = %zero to %n step %one {{
    scf.for %j{n} = %zero to %n step %one {{
      %a{n} = memref.load %src[%i{n}, %j{n}] : memref<64x64xf32>
      %b{n} = arith.mulf %a{n}, %a{n} : f32
      %c{n} = arith.addf %b{n}, %a{n} : f32
      memref.store %c{n}, %dst[%i{n}, %j{n}] : memref<64x64xf32>
    }}
  }}"""
OPS_A_LOOP = 8


def plain_text(ops: int, tensors: Sequence[Attribute] = ()) -> str:
    """A module of about `ops` ops of `func`, `scf`, `arith` and `memref`, with constants like `tensors` among them."""
    loops = "".join(LOOP.format(n=n) for n in range(max(1, round((ops - 5 - len(tensors)) / OPS_A_LOOP))))
    head = "func.func @plain(%src: memref<64x64xf32>, %dst: memref<64x64xf32>, %n: index) {"
    constants = "\n  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index"
    tiles = "".join(f"\n  %t{number} = arith.constant {tensor}" for number, tensor in enumerate(tensors))
    return f"{head}{constants}{tiles}{loops}\n  func.return\n}}\n"


def tensors_in(module: ModuleOp) -> list[DenseIntOrFPElementsAttr]:
    """The constants of tensors in `module` that plain xDSL knows: those without a layout of ours."""
    found = (op.value for op in module.walk() if isinstance(op, arith.ConstantOp))
    tensors = [each for each in found if isinstance(each, DenseIntOrFPElementsAttr)]
    return [each for each in tensors if isinstance(each.type, TensorType) and isinstance(each.type.encoding, NoneAttr)]


def context() -> Context:
    fresh = Context()
    for name, factory in Universe.get_multiverse().all_dialects.items():
        fresh.register_dialect(name, factory)
    return fresh


Actions = Sequence[Callable[[], object]]


def seconds_of(action: Callable[[], object], repetitions: int = 1) -> float:
    """Seconds of processor time that `action` takes, the mean of so many repetitions."""
    gc.collect()
    start = time.process_time()
    for _ in range(repetitions):
        action()
    return (time.process_time() - start) / repetitions


def best_in_turns(actions: Actions) -> list[float]:
    """Seconds that each of `actions` takes: the least over the rounds, in each of which all have their turn."""
    repetitions = [max(1, round(SECONDS_A_ROUND / seconds_of(action))) for action in actions]
    rounds = [list(map(seconds_of, actions, repetitions)) for _ in range(ROUNDS)]
    return [min(of_one) for of_one in zip(*rounds, strict=True)]


PHASES = ("parse", "verify", "print")


def phases(ctx: Context, text: str) -> Actions:
    """What each of `PHASES` does with `text`."""
    module = Parser(ctx, text).parse_module()
    return (
        lambda: Parser(ctx, text).parse_module(),
        module.verify,
        lambda: Printer(StringIO()).print_op(module),
    )


def number_of_ops(ctx: Context, text: str) -> int:
    return sum(1 for _ in Parser(ctx, text).parse_module().walk())


def in_turns(ctx: Context, texts: Sequence[str]) -> list[dict[str, float]]:
    """Microseconds an op for each phase of each of `texts`."""
    seconds = iter(best_in_turns([action for text in texts for action in phases(ctx, text)]))
    return [{phase: 1e6 * next(seconds) / number_of_ops(ctx, text) for phase in PHASES} for text in texts]


def measure() -> list[dict[str, Any]]:
    """Two rows an example: the example, and plain xDSL at the same size; the ratio stands with the example."""
    ctx = context()
    rows: list[dict[str, Any]] = []
    for path in sorted(EXAMPLES.glob("*.mlir")):
        text = path.read_text()
        ops, tensors = number_of_ops(ctx, text), tensors_in(Parser(ctx, text).parse_module())
        of_same_size = plain_text(ops, tensors)
        ours, plain = in_turns(ctx, (text, of_same_size))
        ratio = sum(ours.values()) / sum(plain.values())
        rows.append(_row(path.name, ops, ours, ratio))
        rows.append(_row("  plain xDSL", number_of_ops(ctx, of_same_size), plain, None))
    return rows


def _row(module: str, ops: int, cost: dict[str, float], ratio: float | None) -> dict[str, Any]:
    columns = {f"{phase} us/op": value for phase, value in cost.items()}
    return {"module": module, "ops": ops, **columns, "all us/op": sum(cost.values()), "ratio to plain": ratio}
