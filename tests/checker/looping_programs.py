"""
Random programs whose loops turn `n` times: queues, marks, rings of barriers, pipelines, tokens, with the windows,
depths, counts and guards that a seed picks; most are right.

`damaged` makes one of them wrong at one trip count only.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.checker.test_handshake import READ, RELEASE, handshake


@dataclass(frozen=True)
class Looping:
    """One program, and how it was made."""

    family: str
    text: str


HEADER = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index"""


def window(slots: int, ahead: int, allowed: str, before: str = "", *, step: int = 1, last: str = "0") -> str:
    """A ring of `slots` that is filled `ahead` turns before it is read, by counting: `allowed` groups in flight."""
    return f"""
func.func @window(%src: memref<?xi32>, %out: memref<?xi32>, %n: index) {{{HEADER}
  %slots = arith.constant {slots} : index
  %ahead = arith.constant {ahead} : index
  %by = arith.constant {step} : index
  %ring = memref.alloc() : memref<{slots}xi32, 3>
  {before}
  scf.for %i = %c0 to %ahead step %c1 {{
    async_queue.commit 0 {{
      %some = arith.cmpi slt, %i, %n : index
      scf.if %some {{
        async_queue.scope {{
          %x = memref.load %src[%i] : memref<?xi32>
          %place = arith.remui %i, %slots : index
          memref.store %x, %ring[%place] : memref<{slots}xi32, 3>
        }}
      }}
    }}
  }}
  scf.for %i = %c0 to %n step %c1 {{
    %next = arith.addi %i, %ahead : index
    %to = arith.remui %next, %slots : index
    %from = arith.remui %i, %slots : index
    async_queue.commit 0 {{
      %more = arith.cmpi slt, %next, %n : index
      scf.if %more {{
        async_queue.scope {{
          %x = memref.load %src[%next] : memref<?xi32>
          memref.store %x, %ring[%to] : memref<{slots}xi32, 3>
        }}
      }}
    }}
    %keep = arith.constant {ahead} : index
    {allowed}
    async_queue.wait 0, %allowed {{
      %x = memref.load %ring[%from] : memref<{slots}xi32, 3>
      memref.store %x, %out[%i] : memref<?xi32>
    }}
  }}
  async_queue.wait 0, {last} {{
  }}
  memref.dealloc %ring : memref<{slots}xi32, 3>
  func.return
}}
"""


def barriers(
    stages: int, inner: int, parity: str, consumer_parity: str, *, drop: str = "%go = arith.constant true"
) -> str:
    """
    A producer and a consumer over a ring of mbarriers. The loops are persistent: `inner` turns for each of n tiles,
    and slots and parities go on from tile to tile. `drop` computes `%go`: whether the consumer releases its slot.
    """
    place = """
        %all = arith.muli %t, %inner : i32
        %it = arith.addi %all, %k : i32
        %s = arith.remui %it, %stages : i32
        %round = arith.divui %it, %stages : i32
        %bit = arith.andi %round, %c1 : i32
        %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32"""
    return f"""
func.func @barriers(%ring: !llvm.ptr<3>, %full: !llvm.ptr<3>, %empty: !llvm.ptr<3>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %seven = arith.constant 7 : i32
  %inner = arith.constant {inner} : i32
  %stages = arith.constant {stages} : i32
  %ticks = arith.constant 1000 : i32
  scf.for %s = %c0 to %stages step %c1 : i32 {{
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }}
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.for %t = %c0 to %n step %c1 : i32 {{
      scf.for %k = %c0 to %inner step %c1 : i32 {{{place}
        %turn = arith.xori %bit, %c1 : i32
        {parity}
        nvvm.mbarrier.try_wait.parity %e, %asked, %ticks : !llvm.ptr<3>, i32, i32
        llvm.store %seven, %slot : i32, !llvm.ptr<3>
        nvvm.mbarrier.arrive %f : !llvm.ptr<3>
      }}
    }}
  }}, {{
    scf.for %t = %c0 to %n step %c1 : i32 {{
      scf.for %k = %c0 to %inner step %c1 : i32 {{{place}
        {consumer_parity}
        nvvm.mbarrier.try_wait.parity %f, %asked, %ticks : !llvm.ptr<3>, i32, i32
        %v = llvm.load %slot : !llvm.ptr<3> -> i32
        {drop}
        scf.if %go {{
          nvvm.mbarrier.arrive %e : !llvm.ptr<3>
        }}
      }}
    }}
  }} : () -> ()
  func.return
}}
"""


def tokens(distance: int, *, wait: bool = True) -> str:
    """Tasks that are carried for `distance` turns before they are awaited."""
    names = [f"%t{number}" for number in range(distance)]
    types = ", ".join(["!async.token"] * distance)
    tasks = "\n".join(f"{name}0 = async.execute {{\nasync.yield\n}}" for name in names)
    carried = ", ".join(f"{name} = {name}0" for name in names)
    moved = ", ".join([*names[1:], "%new"])
    return f"""
func.func @tokens(%x: memref<?xi32>, %n: index) {{{HEADER}
  %seven = arith.constant 7 : i32
  {tasks}
  %last:{distance} = scf.for %i = %c0 to %n step %c1 iter_args({carried}) -> ({types}) {{
    {f"async.await {names[0]} : !async.token" if wait else ""}
    %new = async.execute {{
      memref.store %seven, %x[%i] : memref<?xi32>
      async.yield
    }}
    scf.yield {moved} : {types}
  }}
  {" ".join(f"async.await %last#{number} : !async.token" for number in range(distance))}
  func.return
}}
"""


RIGHT_PARITY = "%asked = arith.addi %turn, %c0 : i32"
RIGHT_CONSUMER = "%asked = arith.addi %bit, %c0 : i32"


def random_program(seed: int) -> Looping:
    """Program number `seed`. It may be right or wrong."""
    rng = Random(f"looping {seed}")
    match rng.choice(("window", "window", "barriers", "barriers", "handshake", "tokens")):
        case "window":
            slots, ahead = rng.randint(1, 5), rng.randint(0, 4)
            allowed = rng.choice(("%keep", "%keep", "%c0", "%c1", "%c2"))
            return Looping(
                f"window {slots} {ahead} {allowed}",
                window(slots, ahead, f"%allowed = arith.addi {allowed}, %c0 : index"),
            )
        case "barriers":
            stages, inner = rng.randint(1, 4), rng.randint(1, 3)
            flaw = rng.choice(("", "", "", "parity", "consumer"))
            wrong = "%asked = arith.xori %bit, %c0 : i32" if flaw == "parity" else RIGHT_PARITY
            other = "%asked = arith.xori %bit, %c1 : i32" if flaw == "consumer" else RIGHT_CONSUMER
            return Looping(f"barriers {stages} {inner} {flaw}", barriers(stages, inner, wrong, other))
        case "handshake":
            depth = rng.randint(1, 4)
            body = rng.choice((f"{READ}\n{RELEASE}", f"{READ}\n{RELEASE}", f"{RELEASE}\n{READ}"))
            return Looping(f"handshake {depth}", handshake(depth, body))
        case _:
            distance = rng.randint(1, 3)
            return Looping(f"tokens {distance}", tokens(distance))


def damaged(seed: int) -> tuple[Looping, int]:
    """
    A program that is right at every trip count but one, and that trip count; or from that trip count on, where what
    goes wrong in one turn stays wrong.
    """
    rng = Random(f"damaged {seed}")
    at = rng.randint(1, 40)
    match rng.choice(("edge", "turn", "tile", "release", "every 2 S")):
        case "edge":
            # At trip count `at` alone the waits are too weak.
            ahead = rng.randint(0, 3)
            weak = (
                f"%at = arith.constant {at} : index\n%is = arith.cmpi eq, %n, %at : index\n"
                "%more = arith.addi %keep, %c1 : index\n%allowed = arith.select %is, %more, %keep : index"
            )
            return Looping(f"edge {ahead} {at}", window(ahead + 1, ahead, weak)), at
        case "turn":
            ahead = rng.randint(0, 3)
            weak = (
                f"%at = arith.constant {at - 1} : index\n%is = arith.cmpi eq, %i, %at : index\n"
                "%more = arith.addi %keep, %c1 : index\n%allowed = arith.select %is, %more, %keep : index"
            )
            return Looping(f"turn {ahead} {at}", window(ahead + 1, ahead, weak)), at
        case "tile":
            stages, inner = rng.randint(1, 3), rng.randint(1, 3)
            wrong = (
                f"%at = arith.constant {at - 1} : i32\n%is = arith.cmpi eq, %t, %at : i32\n"
                "%no = arith.xori %bit, %c1 : i32\n%asked = arith.select %is, %no, %bit : i32"
            )
            return Looping(f"tile {stages} {inner} {at}", barriers(stages, inner, RIGHT_PARITY, wrong)), at
        case "release":
            stages, inner = rng.randint(1, 2), rng.randint(1, 3)
            drop = f"%at = arith.constant {at - 1} : i32\n%go = arith.cmpi ne, %t, %at : i32"
            text = barriers(stages, inner, RIGHT_PARITY, RIGHT_CONSUMER, drop=drop)
            # The producer is stuck when the slot comes round.
            return Looping(f"release {stages} {inner} {at}", text), ((at - 1) * inner + stages) // inner + 1
        case _:
            # The parity is taken from the round in two bits: wrong in every second round of the ring from `2 S` on.
            stages = rng.randint(1, 3)
            wrong = (
                "%two = arith.shrui %round, %c1 : i32\n%high = arith.andi %two, %c1 : i32\n"
                "%asked = arith.xori %bit, %high : i32"
            )
            return Looping(f"every 2 S {stages}", barriers(stages, 1, RIGHT_PARITY, wrong)), 2 * stages + 1
