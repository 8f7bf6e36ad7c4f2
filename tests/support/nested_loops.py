"""
Random pipelines in pipelines: two or three components around an annotated loop of two or three, as IR text.

The outer loop copies rows of `%A` to a buffer, the inner one works on its elements, directly or through a buffer of its
own, and adds up into `%sum` now and then. Schedules are drawn at random; some of them are not legal.
"""

from __future__ import annotations

import random

WIDTH = 3
"""Elements of a row; the inner loop has at most as many trips."""


def nested_loop(seed: int) -> str:
    """A module with `@f(%A, %C: memref<8x3xi32>, %sum: memref<1xi32>, %n: index)`; `%n` is the outer trip count."""
    rng = random.Random(seed)
    inner = _inner(rng)
    before = [_copy_row("A", "row")] if rng.random() < 0.8 else [_copy_row("A", "staged"), _copy_rows("staged", "row")]
    behind = [_sum_up(rng)] if rng.random() < 0.5 else []
    parts = len(before) + 3 + len(behind)
    upper = "%n" if rng.random() < 0.6 else f"%c{rng.choice([1, 2, 5, 8])}"
    buffers = "\n".join(f"%{name} = memref.alloc() : memref<{WIDTH}xi32>" for name in ("row", "staged"))
    outside = rng.random() < 0.5
    numbers = "\n".join(f"%c{number} = arith.constant {number} : index" for number in (0, 1, 2, 3, 5, 8))
    return f"""
func.func @f(%A: memref<8x{WIDTH}xi32>, %C: memref<8x{WIDTH}xi32>, %sum: memref<1xi32>, %n: index) {{
  {numbers}
  {buffers if outside else ""}
  scf.for %i = %c0 to {upper} step %c1 {{
    {"" if outside else buffers}
    {"".join(before)}
    {inner}
    {"".join(behind)}
  }} {{{_schedule(rng, parts, sync=(len(before), len(before) + 3))}}}
  func.return
}}"""


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


def _inner(rng: random.Random) -> str:
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
    return f"""{prefix}scf.for %k = %c0 to {upper} step %c1 {{
      %element = memref.alloc() : memref<1xi32>
      async_queue.block {{
        %v = memref.load %row[%k] : memref<{WIDTH}xi32>
        memref.store %v, %element[%c0] : memref<1xi32>
      }}
      async_queue.block {{
        %v = memref.load %element[%c0] : memref<1xi32>
        {use}
      }}
    }} {{{_schedule(rng, 2)}}}
    """


def _schedule(rng: random.Random, count: int, sync: tuple[int, int] = (0, 0)) -> str:
    """Annotations; the stages of the components of the range `sync` are not asynchronous."""
    stages = sorted(rng.randint(0, 2) for _ in range(count))
    if rng.random() < 0.3:
        rng.shuffle(stages)
    order = list(range(count))
    if rng.random() < 0.6:
        first, second = rng.sample(range(count), 2) if count > 1 else (0, 0)
        order[first], order[second] = order[second], order[first]
    asynchronous = [stage for stage in sorted(set(stages) - set(stages[slice(*sync)])) if rng.random() < 0.8]
    lists = {"stage": stages, "order": order, "async_stages": asynchronous}
    return ", ".join(
        f"software_pipeline_{key} = array<i64: {', '.join(map(str, values))}>"
        for key, values in lists.items()
        if values
    )
