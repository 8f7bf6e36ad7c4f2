"""
Random pipelines in pipelines: two or three components around an annotated loop of two or three, as IR text.

The outer loop copies rows of `%A` to a buffer, the inner one works on its elements, directly or through a buffer of its
own, and adds up into `%sum` now and then. Most schedules are drawn among those that keep every dependence; of the
others some do and some do not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 3
"""Elements of a row; the inner loop has at most as many trips."""


ANYHOW = 8
"""One in so many programs has schedules that may not be legal."""


@dataclass(frozen=True)
class NestedLoop:
    """A module with `@f(%A, %C: memref<8x3xi32>, %sum: memref<1xi32>, %n: index)`; `%n` is the outer trip count."""

    text: str
    is_legal: bool
    """Whether the schedules are known to keep every dependence."""


def nested_loop(seed: int) -> NestedLoop:
    rng = random.Random(seed)
    legal = seed % ANYHOW != ANYHOW - 1
    inner, adds = _inner(rng, legal)
    before = [_copy_row("A", "row")] if rng.random() < 0.8 else [_copy_row("A", "staged"), _copy_rows("staged", "row")]
    behind = [_sum_up(rng)] if rng.random() < 0.5 else []
    parts = len(before) + 3 + len(behind)
    upper = "%n" if rng.random() < 0.6 else f"%c{rng.choice([1, 2, 5, 8])}"
    buffers = "\n".join(f"%{name} = memref.alloc() : memref<{WIDTH}xi32>" for name in ("row", "staged"))
    outside = rng.random() < 0.5
    first = len(before)
    summing = [first, first + 1, first + 2] if adds else []
    summing += [parts - 1] if behind else []
    schedule = _schedule(rng, parts, legal, sync=(first, first + 3), summing=summing)
    numbers = "\n".join(f"%c{number} = arith.constant {number} : index" for number in (0, 1, 2, 3, 5, 8))
    text = f"""
func.func @f(%A: memref<8x{WIDTH}xi32>, %C: memref<8x{WIDTH}xi32>, %sum: memref<1xi32>, %n: index) {{
  {numbers}
  {buffers if outside else ""}
  scf.for %i = %c0 to {upper} step %c1 {{
    {"" if outside else buffers}
    {"".join(before)}
    {inner}
    {"".join(behind)}
  }} {{{schedule}}}
  func.return
}}"""
    return NestedLoop(text, legal)


def _copy_row(source: str, target: str) -> str:
    return f"""async_queue.block {{
      scf.for %x = %c0 to %c{WIDTH} step %c1 {{
        %v = memref.load %{source}[%i, %x] : memref<8x{WIDTH}xi32>
        memref.store %v, %{target}[%x] : memref<{WIDTH}xi32>
      }}
    }}
    """


def _copy_rows(source: str, target: str) -> str:
    return f"""async_queue.block {{
      "memref.copy"(%{source}, %{target}) : (memref<{WIDTH}xi32>, memref<{WIDTH}xi32>) -> ()
    }}
    """


def _sum_up(rng: random.Random) -> str:
    row, subscript = ("C", "%i, %c1") if rng.random() < 0.5 else ("A", "%i, %c2")
    return f"""async_queue.block {{
      %v = memref.load %{row}[{subscript}] : memref<8x{WIDTH}xi32>
      %s = memref.load %sum[%c0] : memref<1xi32>
      %t = arith.addi %s, %v : i32
      memref.store %t, %sum[%c0] : memref<1xi32>
    }}
    """


def _inner(rng: random.Random, legal: bool) -> tuple[str, bool]:
    """The inner loop, and whether it adds to `%sum`."""
    trips = rng.choice([0, 1, 2, 3, 3])
    if rng.random() < 0.3:
        upper, prefix = "%trips", "%trips = arith.minui %i, %c3 : index\n    "
    else:
        upper, prefix = f"%c{trips}", ""
    adds = rng.random() < 0.4
    use = f"""%u = arith.addi %v, %v : i32
        memref.store %u, %C[%i, %k] : memref<8x{WIDTH}xi32>"""
    if adds:
        use += """
        %s = memref.load %sum[%c0] : memref<1xi32>
        %t = arith.addi %s, %u : i32
        memref.store %t, %sum[%c0] : memref<1xi32>"""
    text = f"""{prefix}scf.for %k = %c0 to {upper} step %c1 {{
      %element = memref.alloc() : memref<1xi32>
      async_queue.block {{
        %v = memref.load %row[%k] : memref<{WIDTH}xi32>
        memref.store %v, %element[%c0] : memref<1xi32>
      }}
      async_queue.block {{
        %v = memref.load %element[%c0] : memref<1xi32>
        {use}
      }}
    }} {{{_schedule(rng, 2, legal)}}}
    """
    return text, adds


def _schedule(
    rng: random.Random, count: int, legal: bool, sync: tuple[int, int] = (0, 0), summing: Sequence[int] = ()
) -> str:
    """
    Annotations; the stages of the components of the range `sync` are not asynchronous.

    Legal ones keep the program order of each two components, of one iteration, whatever they have to do with each
    other, and that of those in `summing`, which add to one number, from one iteration to the next.
    """
    stages, order = _drawn(rng, count)
    while legal and not _keeps_order(stages, order, summing):
        stages, order = _drawn(rng, count)
    asynchronous = [stage for stage in sorted(set(stages) - set(stages[slice(*sync)])) if rng.random() < 0.8]
    lists = {"stage": stages, "order": order, "async_stages": asynchronous}
    return ", ".join(
        f"software_pipeline_{key} = array<i64: {', '.join(map(str, values))}>"
        for key, values in lists.items()
        if values
    )


def _drawn(rng: random.Random, count: int) -> tuple[list[int], list[int]]:
    stages = sorted(rng.randint(0, 2) for _ in range(count))
    if rng.random() < 0.3:
        rng.shuffle(stages)
    order = list(range(count))
    rng.shuffle(order)
    return stages, order


def _keeps_order(stages: Sequence[int], order: Sequence[int], summing: Sequence[int]) -> bool:
    times = list(zip(stages, order, strict=True))
    again = [(stage + 1, place) for stage, place in times]
    within = all(times[early] < times[late] for late in range(len(times)) for early in range(late))
    return within and all(times[late] < again[early] for late in summing for early in summing if early < late)
