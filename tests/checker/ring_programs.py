"""
Programs of rings whose slots take turns: how many stages a turn of the loop takes, which it names, and in which order.

    produces(turn)   ->   ring   ->   consumes(turn)

Most are right; some name stages so that a slot is waited for in a phase that never comes, some only from a far turn on.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

TILE = "tensor<2x2xf32>"
HEADER = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index"""


def queue_type(depth: int) -> str:
    """The type of a queue with this depth; 0 gives a slot to every stage."""
    return f"!nv_tileaa.queue<[{TILE}], depth = {depth}>" if depth else f"!nv_tileaa.queue<[{TILE}]>"


def put(ring: int, depth: int, stage: str | None, name: str = "") -> str:
    """Bring a tile. `stage` is IR that computes `%stage`; None for a put that takes the next one."""
    load = f"%t{name} = nv_tileaa.tiled_load %src[%c0, %k] : (memref<?x?xf32>, index, index) -> {TILE}"
    kind = queue_type(depth)
    if stage is None:
        return f"{load}\nnv_tileaa.queue.put %q{ring}, %t{name} : ({kind}, {TILE}) -> ()"
    lines = stage.replace("%stage", f"%stage{name}")
    return f"{load}\n{lines}\nnv_tileaa.queue.put %q{ring}[%stage{name}], %t{name} : ({kind}, index, {TILE}) -> ()"


def get(ring: int, depth: int, stage: str | None, name: str = "") -> str:
    """Take a tile."""
    kind = queue_type(depth)
    if stage is None:
        return f"%g{name} = nv_tileaa.queue.get %q{ring} : ({kind}) -> {TILE}"
    lines = stage.replace("%stage", f"%stage{name}")
    return f"{lines}\n%g{name} = nv_tileaa.queue.get %q{ring}[%stage{name}] : ({kind}, index) -> {TILE}"


def relay(depths: Sequence[int], puts: str, gets: str, *, inner: int = 0, last: str = "") -> str:
    """
    An agent that brings tiles, one that takes them, `n` turns each, and the rings between them. With `inner`, each turn
    is a loop of so many turns, and `%k` counts them through. `last` is what the second agent does after its loop.
    """
    rings = "\n".join(
        f"  %q{number} = nv_tileaa.create_queue : () -> {queue_type(depth)}" for number, depth in enumerate(depths)
    )
    loops = [_loop(body, inner) for body in (puts, gets)]
    return f"""
func.func @relay(%src: memref<?x?xf32>, %n: index) {{{HEADER}
{rings}
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    {loops[0]}
  }}, {{
    {loops[1]}
    {last}
  }} : () -> ()
  func.return
}}
"""


def _loop(body: str, inner: int) -> str:
    if not inner:
        return f"scf.for %k = %c0 to %n step %c1 {{\n{body}\n}}"
    return f"""scf.for %turn = %c0 to %n step %c1 {{
      %many = arith.constant {inner} : index
      %first = arith.muli %turn, %many : index
      scf.for %j = %c0 to %many step %c1 {{
        %k = arith.addi %first, %j : index
        {body}
      }}
    }}"""


def counted(many: int, number: int) -> str:
    """IR that names stage `many * k + number`."""
    return (
        (
            f"%many%stage = arith.constant {many} : index\n%base%stage = arith.muli %k, %many%stage : index\n"
            f"%number%stage = arith.constant {number} : index\n%stage = arith.addi %base%stage, %number%stage : index"
        )
        .replace("%many%stage", "%stage_many")
        .replace("%base%stage", "%stage_base")
        .replace("%number%stage", "%stage_number")
    )


def random_relay(seed: int) -> str:
    """Program number `seed`: one or two rings, one to three stages a turn, named or not, perhaps in a bad order."""
    rng = Random(f"relay {seed}")
    depths = [rng.randint(1, 5) for _ in range(rng.randint(1, 2))]
    puts: list[str] = []
    gets: list[str] = []
    for ring, depth in enumerate(depths):
        rate = rng.randint(1, 3)
        stride = rate if rng.random() < 0.8 else rate + rng.randint(1, 2)
        stages = [counted(stride, number) if rng.random() < 0.8 else None for number in range(rate)]
        if None in stages:
            stages = [None] * rate
        puts += [put(ring, depth, stage, f"p{ring}{number}") for number, stage in enumerate(stages)]
        taken = list(enumerate(stages))
        if rng.random() < 0.25:
            rng.shuffle(taken)
        gets += [get(ring, depth, stage, f"g{ring}{number}") for number, stage in taken]
    if rng.random() < 0.25:
        rng.shuffle(gets)
    inner = rng.choice((0, 0, 0, 2, 3))
    return relay(depths, "\n".join(puts), "\n".join(gets), inner=inner)


AS_COUNTED = "%stage = arith.addi %k, %c0 : index"
FAR = "%far = arith.constant 700 : index"
RIGHT = {
    "one ring": relay([4], put(0, 4, AS_COUNTED), get(0, 4, AS_COUNTED)),
    "a slot for every stage": relay([0], put(0, 0, AS_COUNTED), get(0, 0, AS_COUNTED)),
    "stages that nobody names": relay([3], put(0, 3, None), get(0, 3, None)),
    "rings of three and of four": relay(
        [3, 4],
        put(0, 3, AS_COUNTED, "a") + "\n" + put(1, 4, AS_COUNTED, "b"),
        get(0, 3, AS_COUNTED, "a") + "\n" + get(1, 4, AS_COUNTED, "b"),
    ),
    "two stages a turn": relay(
        [3],
        put(0, 3, counted(2, 0), "a") + "\n" + put(0, 3, counted(2, 1), "b"),
        get(0, 3, counted(2, 0), "a") + "\n" + get(0, 3, counted(2, 1), "b"),
    ),
    "a table with a place for each slot": relay(
        [3],
        put(0, 3, AS_COUNTED) + "\n%place = arith.remui %k, %c3 : index\n"
        "%seven = arith.constant 7.0 : f32\nmemref.store %seven, %src[%c0, %place] : memref<?x?xf32>",
        get(0, 3, AS_COUNTED),
    ).replace("nv_tileaa.tiled_load %src[%c0, %k]", "nv_tileaa.tiled_load %src[%c1, %c1]"),
    "three stages in each of n turns, four slots": relay([4], put(0, 4, AS_COUNTED), get(0, 4, AS_COUNTED), inner=3),
}
"""Proved with slots that are told by their turns."""

WRONG = {
    "from turn 700 on every other stage": (
        relay(
            [4],
            put(
                0,
                4,
                f"{FAR}\n%twice = arith.muli %k, %c2 : index\n%is = arith.cmpi ult, %k, %far : index\n"
                "%stage = arith.select %is, %k, %twice : index",
            ),
            get(0, 4, AS_COUNTED),
        ),
        701,
    ),
    "a slot too far from turn 700 on": (
        relay(
            [4],
            put(0, 4, AS_COUNTED),
            get(
                0,
                4,
                f"{FAR}\n%is = arith.cmpi uge, %k, %far : index\n"
                "%more = arith.addi %k, %c1 : index\n%stage = arith.select %is, %more, %k : index",
            ),
        ),
        701,
    ),
    "the first stage again after the loop": (
        relay(
            [2], put(0, 2, AS_COUNTED), get(0, 2, AS_COUNTED), last=get(0, 2, "%stage = arith.addi %c0, %c0 : index")
        ),
        0,
    ),
    "backwards": (
        relay(
            [3],
            put(0, 3, AS_COUNTED),
            get(0, 3, "%from = arith.subi %n, %c1 : index\n%stage = arith.subi %from, %k : index"),
        ),
        4,
    ),
}
"""Programs, and from which trip count on they go wrong."""
