"""
Programs that are right up to some trip count, and what they count with: for tests of the proofs for every trip count.

One loop copies a row into a buffer and waits for it. The wait is for one group too few where `%weak` holds, which is
what the programs differ in: never, from some turn on, in one turn only, in every k-th turn.
"""

from __future__ import annotations

from dataclasses import dataclass


def copying(
    weak: str,
    *,
    carried: str = "",
    initial: str = "",
    types: str = "",
    yielded: str = "",
    before: str = "",
    arguments: str = "",
    low: str = "%c0",
    high: str = "%n",
    step: str = "%c1",
) -> str:
    """The loop. `weak` computes `%weak : i1` from `%i`; `carried`, `initial`, `types`, `yielded` are for iter_args."""
    iterations = f"iter_args({carried} = {initial}) -> ({types})" if carried else ""
    result = "%last = " if carried else ""
    end = f"scf.yield {yielded} : {types}" if carried else ""
    return f"""
func.func @copies(%src: memref<?xi32>, %out: memref<?xi32>, %n: index{arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %buffer = memref.alloc() : memref<2xi32, 3>
  {before}
  {result}scf.for %i = {low} to {high} step {step} {iterations} {{
    %slot = arith.remui %i, %c2 : index
    async_queue.commit 0 {{
      async_queue.scope {{
        %x = memref.load %src[%i] : memref<?xi32>
        memref.store %x, %buffer[%slot] : memref<2xi32, 3>
      }}
    }}
    {weak}
    %allowed = arith.select %weak, %c1, %c0 : index
    async_queue.wait 0, %allowed {{
      %y = memref.load %buffer[%slot] : memref<2xi32, 3>
      memref.store %y, %out[%i] : memref<?xi32>
    }}
    {end}
  }}
  async_queue.wait 0, 0 {{
  }}
  memref.dealloc %buffer : memref<2xi32, 3>
  func.return
}}
"""


@dataclass(frozen=True)
class Case:
    """One such program."""

    name: str
    text: str
    wrong_at: int | None
    """The least trip count at which it goes wrong; None for never."""
    provable: bool = False
    """Whether, where it never goes wrong, a proof must be found."""


def equals(expression: str, number: int, result: str) -> str:
    """IR that computes `%weak = (result == number)` after `expression`."""
    return f"""{expression}
    %number = arith.constant {number} : index
    %weak = arith.cmpi eq, {result}, %number : index"""


def in_turn(turn: int) -> str:
    return equals("", turn, "%i")


NEVER = "%weak = arith.constant false"

CASES = [
    Case("never", copying(NEVER), None, provable=True),
    Case("first turn", copying(in_turn(0)), 1),
    Case("turn 17", copying(in_turn(17)), 18),
    Case("turn 40", copying(in_turn(40)), 41),
    Case("turn 1000", copying(in_turn(1000)), 1001),
    Case("turn 1000000", copying(in_turn(1000000)), 1000001),
    Case("after turn 700", copying("%far = arith.constant 700 : index\n%weak = arith.cmpi ugt, %i, %far : index"), 702),
    Case(
        "from the end",
        copying("%left = arith.subi %n, %i : index\n" + equals("", 900, "%left")),
        900,
    ),
    Case(
        "at one trip count",
        copying("%far = arith.constant 901 : index\n%weak = arith.cmpi eq, %n, %far : index"),
        901,
    ),
    Case("i * i", copying(equals("%square = arith.muli %i, %i : index", 625, "%square")), 26),
    Case("i * i, far", copying(equals("%square = arith.muli %i, %i : index", 250000, "%square")), 501),
    Case(
        "i * i modulo 1021",
        copying(
            equals(
                "%square = arith.muli %i, %i : index\n%p = arith.constant 1021 : index\n"
                "%rest = arith.remui %square, %p : index",
                # 300 * 300 mod 1021, which no smaller number has as its square.
                300 * 300 % 1021,
                "%rest",
            )
        ),
        301,
    ),
    Case(
        "modulo 777",
        copying(
            equals("%p = arith.constant 777 : index\n%rest = arith.remui %i, %p : index", 776, "%rest"),
        ),
        777,
    ),
    Case(
        "eight bits",
        copying(
            "%low = arith.index_cast %i : index to i8\n%last = arith.constant -56 : i8\n"
            "%weak = arith.cmpi eq, %low, %last : i8"
        ),
        201,
    ),
    Case(
        "sixteen bits",
        copying(
            "%low = arith.index_cast %i : index to i16\n%last = arith.constant 0 : i16\n"
            "%c = arith.cmpi slt, %low, %last : i16\n%weak = arith.andi %c, %c : i1"
        ),
        32769,
    ),
    Case(
        "product that overflows 32 bits",
        copying(
            "%narrow = arith.index_cast %i : index to i32\n%factor = arith.constant 16777216 : i32\n"
            "%product = arith.muli %narrow, %factor : i32\n%zero = arith.constant 0 : i32\n"
            "%weak = arith.cmpi slt, %product, %zero : i32"
        ),
        129,
    ),
    Case(
        "a third of the turns",
        copying(
            "%third = arith.divui %i, %c3 : index\n%odd = arith.remui %third, %c2 : index\n"
            "%weak = arith.cmpi eq, %odd, %c2 : index"
        ),
        None,
        provable=True,
    ),
    Case(
        "a float",
        copying(
            "%wide = arith.index_cast %i : index to i64\n%f = arith.sitofp %wide : i64 to f32\n"
            "%far = arith.constant 333.0 : f32\n%weak = arith.cmpf oeq, %f, %far : f32"
        ),
        334,
    ),
    Case(
        "the greater of float and bound",
        copying(
            "%wide = arith.index_cast %i : index to i64\n%f = arith.sitofp %wide : i64 to f32\n"
            "%far = arith.constant 333.0 : f32\n%more = arith.maximumf %f, %far : f32\n"
            "%weak = arith.cmpf one, %more, %far : f32"
        ),
        335,
    ),
    Case(
        "a counter that saturates",
        copying(
            equals(
                "%top = arith.constant 120 : index\n%sum = arith.addi %counter, %c1 : index\n"
                "%next = arith.minui %sum, %top : index",
                120,
                "%next",
            ),
            carried="%counter",
            initial="%c0",
            types="index",
            yielded="%next",
        ),
        120,
    ),
    Case(
        "a counter that doubles",
        copying(
            equals("%next = arith.addi %counter, %counter : index", 1 << 40, "%next"),
            carried="%counter",
            initial="%c1",
            types="index",
            yielded="%next",
        ),
        40,
    ),
    Case(
        "bits that are shifted out",
        copying(
            "%next = arith.shrui %bits, %c1 : index\n%weak = arith.cmpi eq, %next, %c0 : index",
            carried="%bits",
            initial="%all",
            types="index",
            yielded="%next",
            before="%all = arith.constant 4611686018427387904 : index",
        ),
        63,
    ),
    Case(
        "a register that is shifted by feedback",
        # A linear feedback shift register of 10 bits: its period is 1023.
        copying(
            "%seven = arith.constant 3 : index\n%moved = arith.shrui %bits, %seven : index\n"
            "%mixed = arith.xori %bits, %moved : index\n%bit = arith.andi %mixed, %c1 : index\n"
            "%nine = arith.constant 9 : index\n%high = arith.shli %bit, %nine : index\n"
            "%rest = arith.shrui %bits, %c1 : index\n%next = arith.ori %rest, %high : index\n" + equals("", 2, "%next"),
            carried="%bits",
            initial="%c1",
            types="index",
            yielded="%next",
        ),
        1022,
    ),
    Case(
        "a counter in memory",
        copying(
            "%old = memref.load %cell[] : memref<index>\n%new = arith.addi %old, %c1 : index\n"
            "memref.store %new, %cell[] : memref<index>\n" + equals("", 222, "%new"),
            before="%cell = memref.alloc() : memref<index>\nmemref.store %c0, %cell[] : memref<index>",
        ),
        222,
    ),
    Case(
        "a table in memory",
        copying(
            "%entry = memref.load %table[%i] : memref<512xindex>\n%weak = arith.cmpi eq, %entry, %c2 : index",
            before="%table = memref.alloc() : memref<512xindex>\n%late = arith.constant 400 : index\n"
            "%size = arith.constant 512 : index\nscf.for %j = %c0 to %size step %c1 {\n"
            "memref.store %c0, %table[%j] : memref<512xindex>\n}\nmemref.store %c2, %table[%late] : memref<512xindex>",
        ),
        401,
    ),
    Case(
        "step 3 from 5",
        copying(in_turn(5 + 3 * 60), low="%five", step="%c3", before="%five = arith.constant 5 : index"),
        186,
    ),
    Case(
        "step 3 from 5, right",
        copying(NEVER, low="%five", step="%c3", before="%five = arith.constant 5 : index"),
        None,
        provable=True,
    ),
    Case(
        "half of the trip count",
        copying(
            "%left = arith.subi %half, %i : index\n" + equals("", 150, "%left"),
            high="%half",
            before="%half = arith.divui %n, %c2 : index",
        ),
        300,
    ),
    Case(
        "half of the trip count, right",
        copying(NEVER, high="%half", before="%half = arith.divui %n, %c2 : index"),
        None,
        provable=True,
    ),
    Case(
        "the trip count squared",
        copying(
            "%square = arith.muli %n, %n : index\n" + equals("", 160000, "%square"),
        ),
        400,
    ),
    Case(
        "parity of a seventh",
        copying(
            "%seven = arith.constant 700 : index\n%seventh = arith.divui %i, %seven : index\n"
            "%odd = arith.andi %seventh, %c1 : index\n%weak = arith.cmpi eq, %odd, %c1 : index"
        ),
        701,
    ),
]


# Several agents, loops and arguments ----------------------------------------------------------------------------------


def meeting(first: str, second: str) -> str:
    """Two agents with a rendezvous in every turn, at a barrier of the block; each accesses its own place in `%x`."""
    return f"""
func.func @meet(%x: memref<?xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %far = arith.constant 300 : index
  %n7 = arith.constant 7 : i32
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.for %i = %c0 to %n step %c1 {{
      {first}
      memref.store %n7, %x[%p] : memref<?xi32>
      nvvm.barrier0
    }}
  }}, {{
    scf.for %i = %c0 to %n step %c1 {{
      {second}
      memref.store %n7, %x[%p] : memref<?xi32>
      nvvm.barrier0
    }}
  }} : () -> ()
  func.return
}}
"""


EVEN = "%p = arith.muli %i, %c2 : index"
ODD = f"{EVEN.replace('%p', '%e')}\n%p = arith.addi %e, %c1 : index"


def in_sequence(offset: str, *, arguments: str = "", second: str = "%n", last: str = "0") -> str:
    """Two loops that share a queue: what the first leaves in flight is waited for in the second."""
    return f"""
func.func @two(%src: memref<?xi32>, %out: memref<?xi32>, %n: index{arguments}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %buffer = memref.alloc() : memref<3xi32, 3>
  scf.for %i = %c0 to %n step %c1 {{
    %slot = arith.remui %i, %c3 : index
    async_queue.wait 0, 2 {{
    }}
    async_queue.commit 0 {{
      async_queue.scope {{
        %v = memref.load %src[%i] : memref<?xi32>
        memref.store %v, %buffer[%slot] : memref<3xi32, 3>
      }}
    }}
  }}
  {offset}
  scf.for %j = %c0 to {second} step %c1 {{
    %k = arith.addi %j, %begin : index
    %slot = arith.remui %k, %c3 : index
    async_queue.wait 0, 2 {{
    }}
    async_queue.commit 0 {{
      async_queue.scope {{
        %v = memref.load %src[%j] : memref<?xi32>
        memref.store %v, %buffer[%slot] : memref<3xi32, 3>
      }}
    }}
  }}
  async_queue.wait 0, {last} {{
  }}
  memref.dealloc %buffer : memref<3xi32, 3>
  func.return
}}
"""


def nested(inner: str, weak: str, step: str = "%c1") -> str:
    """A loop around the loop of `copying`, whose inner trip count is `inner`."""
    text = copying(weak, low="%c0", high="%inner")
    head, _, rest = text.partition("  scf.for %i")
    body, _, tail = rest.rpartition("  async_queue.wait 0, 0 {")
    around = f"  scf.for %t = %c0 to %n step {step} {{\n{inner}\n"
    return f"{head}{around}  scf.for %i{body}  }}\n  async_queue.wait 0, 0 {{{tail}"


MORE = [
    Case("apart", meeting(EVEN, ODD), None, provable=True),
    Case("at one place", meeting("%p = arith.addi %i, %c0 : index", "%p = arith.addi %i, %c0 : index"), 1),
    Case(
        "catching up",
        # The first is at i, the second at 2 i - 300 from turn 150 on and far off before: they meet in turn 300.
        meeting(
            "%p = arith.addi %i, %c0 : index",
            "%twice = arith.muli %i, %c2 : index\n%low = arith.maxui %twice, %far : index\n"
            "%q = arith.subi %low, %far : index\n%is = arith.cmpi ult, %twice, %far : index\n"
            "%off = arith.constant 900 : index\n%p = arith.select %is, %off, %q : index",
        ),
        301,
    ),
    Case(
        "coming closer",
        # i against 700 - i: they meet in turn 350.
        meeting(
            "%p = arith.addi %i, %c0 : index",
            "%m = arith.constant 700 : index\n%p = arith.subi %m, %i : index",
        ),
        351,
    ),
    Case("two loops in step", in_sequence("%begin = arith.addi %n, %c0 : index"), None, provable=True),
    Case(
        "two loops that fall out of step at 400",
        # The second loop goes on with the slot behind the first one, except at one trip count.
        in_sequence(
            "%bad = arith.constant 400 : index\n%is = arith.cmpi eq, %n, %bad : index\n"
            "%less = arith.subi %n, %c1 : index\n%begin = arith.select %is, %less, %n : index"
        ),
        400,
    ),
    Case("two loops, the last wait too weak", in_sequence("%begin = arith.addi %n, %c0 : index", last="1"), 1),
    Case(
        "two arguments",
        in_sequence("%begin = arith.addi %n, %c0 : index", arguments=", %m: index", second="%m"),
        None,
        provable=True,
    ),
    Case(
        "two arguments that must differ",
        # At n = m = 11 the second loop begins with a slot too early.
        in_sequence(
            "%e = arith.constant 11 : index\n%a = arith.cmpi eq, %n, %e : index\n%b = arith.cmpi eq, %m, %e : index\n"
            "%is = arith.andi %a, %b : i1\n%less = arith.subi %n, %c1 : index\n"
            "%begin = arith.select %is, %less, %n : index",
            arguments=", %m: index",
            second="%m",
        ),
        11,
    ),
    Case("nested, five each", nested("%inner = arith.constant 5 : index", NEVER), None, provable=True),
    Case(
        "nested, the 400th",
        nested(
            "%inner = arith.constant 3 : index",
            "%far = arith.constant 399 : index\n%weak = arith.cmpi eq, %t, %far : index",
        ),
        400,
    ),
    Case("nested, a triangle", nested("%inner = arith.addi %t, %c1 : index", NEVER), None),
    Case("nested, a square", nested("%inner = arith.addi %n, %c0 : index", NEVER), None),
    Case("nested, up to three", nested("%inner = arith.remui %t, %c3 : index", NEVER), None, provable=True),
    Case(
        "nested, a triangle that goes wrong",
        nested("%inner = arith.addi %t, %c1 : index", in_turn(60)),
        61,
    ),
    Case(
        "while, up to n",
        """
func.func @count(%src: memref<?xi32>, %tile: memref<1xi32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %far = arith.constant 250 : index
  %end = scf.while (%k = %c0) : (index) -> index {
    %more = arith.cmpi ult, %k, %n : index
    scf.condition(%more) %k : index
  } do {
  ^bb0(%k: index):
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %src[%k] : memref<?xi32>
        memref.store %v, %tile[%c0] : memref<1xi32, 3>
      }
    }
    %is = arith.cmpi eq, %k, %far : index
    %allowed = arith.select %is, %c1, %c0 : index
    async_queue.wait 0, %allowed {
      %v = memref.load %tile[%c0] : memref<1xi32, 3>
    }
    %next = arith.addi %k, %c1 : index
    scf.yield %next : index
  }
  async_queue.wait 0, 0 {
  }
  func.return
}
""",
        251,
    ),
    Case(
        "blocks, up to n",
        """
func.func @count(%src: memref<?xi32>, %tile: memref<1xi32, 3>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %far = arith.constant 250 : index
  cf.br ^head(%c0 : index)
^head(%k: index):
  %more = arith.cmpi ult, %k, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  async_queue.commit 0 {
    async_queue.scope {
      %v = memref.load %src[%k] : memref<?xi32>
      memref.store %v, %tile[%c0] : memref<1xi32, 3>
    }
  }
  %is = arith.cmpi eq, %k, %far : index
  %allowed = arith.select %is, %c1, %c0 : index
  async_queue.wait 0, %allowed {
    %v = memref.load %tile[%c0] : memref<1xi32, 3>
  }
  %next = arith.addi %k, %c1 : index
  cf.br ^head(%next : index)
^exit:
  async_queue.wait 0, 0 {
  }
  func.return
}
""",
        251,
    ),
    Case(
        "as many turns as the array has elements",
        # The extent is taken to be 1024, and what is wrong is wrong at 5000.
        copying(in_turn(5000), high="%size", before="%size = memref.dim %src, %c0 : memref<?xi32>"),
        None,
    ),
    Case(
        "an early exit",
        copying(
            "%far = arith.constant 260 : index\n%on = arith.cmpi ult, %i, %far : index\n"
            "%open2 = arith.andi %open, %on : i1\n%t = arith.constant true\n%weak = arith.xori %open2, %t : i1",
            carried="%open",
            initial="%yes",
            types="i1",
            yielded="%open2",
            before="%yes = arith.constant true",
        ),
        261,
    ),
]
CASES += MORE
