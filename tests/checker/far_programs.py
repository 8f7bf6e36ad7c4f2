"""
Programs that are wrong at large trip counts only, and similar ones that never are: for tests of the proofs for every
trip count.

An early version of the checker found proofs for the first seven of them, wrongly. Each of the others hides the mistake
behind another way to wait: queues, tasks, tokens, agents, fences, groups of bulk copies. All are right at trip counts 0
to 8, which are those that `check` executes by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tests.checker.leftover_programs import Place
from tileas_xdsl.checker.verdict.report import Verdict


@dataclass(frozen=True)
class Program:
    """A program, and the verdict that is expected."""

    name: str
    text: str
    wrong_at: int | None
    """The least trip count at which it goes wrong; None for never."""
    outcome: Verdict | None = Verdict.VIOLATION
    """What executing that trip count says; None where it is refused, with an `UnsupportedError`."""
    decided: bool = True
    """Whether checking decides about every trip count: by a proof, or by finding what goes wrong."""


# What was proved wrongly ----------------------------------------------------------------------------------------------

ERASED_FLAG = """
func.func @f(%src: memref<?xi32>, %x: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c30 = arith.constant 30 : index
  %five = arith.constant 5 : i32
  memref.store %five, %x[%c30] : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %src[%i] : memref<?xi32>
    memref.store %v, %x[%i] : memref<?xi32>
  }
  %w = memref.load %x[%c30] : memref<?xi32>
  %same = arith.cmpi eq, %w, %five : i32
  scf.if %same {
    async_queue.wait 0, 0 {
    }
  }
  func.return
}
"""
"""x[30] is 5 until turn 30 overwrites it with what nobody knows, and the end branches on it."""

RESTORED_FLAG = """
func.func @f(%src: memref<?xi32>, %x: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c30 = arith.constant 30 : index
  %five = arith.constant 5 : i32
  %seven = arith.constant 7 : i32
  %tile = memref.alloc() : memref<1xi32, 3>
  memref.store %five, %x[%c30] : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %a = memref.load %src[%i] : memref<?xi32>
        memref.store %a, %tile[%c0] : memref<1xi32, 3>
      }
    }
    memref.store %seven, %x[%i] : memref<?xi32>
    %w = memref.load %x[%c30] : memref<?xi32>
    %is = arith.cmpi eq, %w, %five : i32
    scf.if %is {
      async_queue.wait 0, 0 {
      }
    }
    %b = memref.load %tile[%c0] : memref<1xi32, 3>
    %v = memref.load %src[%i] : memref<?xi32>
    memref.store %v, %x[%i] : memref<?xi32>
    memref.store %five, %x[%c30] : memref<?xi32>
  }
  async_queue.wait 0, 0 {
  }
  func.return
}
"""
"""In turn 30 alone the flag at x[30] reads 7, which x[i] was just set to; the wait is left out, and a load races."""

FLAG_UNDER_WAY = """
func.func @f(%src: memref<?xi32>, %x: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  %five = arith.constant 5 : i32
  memref.store %five, %x[%c90] : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %src[%i] : memref<?xi32>
        memref.store %v, %x[%i] : memref<?xi32>
      }
    }
  }
  async_queue.wait 0, 0 {
  }
  %w = memref.load %x[%c90] : memref<?xi32>
  %same = arith.cmpi eq, %w, %five : i32
  scf.if %same {
    async_queue.wait 1, 0 {
    }
  }
  func.return
}
"""
"""Stores are under way until the end; one of them overwrites the flag that the end branches on."""


def _each_barrier(low: str, high: str, op: str) -> str:
    """`op` for each barrier `%b` of those from `low` to below `high`."""
    return f"""
  scf.for %i = {low} to {high} step %c1 : i32 {{
    %b = llvm.getelementptr %bars[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.{op}
  }}"""


_ARRIVE = "arrive %b : !llvm.ptr<3>"
_WAIT = "try_wait.parity %b, %c0, %ticks : !llvm.ptr<3>, i32, i32"

BARRIER_LEFT_OUT = f"""
func.func @f(%bars: !llvm.ptr<3>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c30 = arith.constant 30 : i32
  %c31 = arith.constant 31 : i32
  %c40 = arith.constant 40 : i32
  %ticks = arith.constant 1000 : i32
  {_each_barrier("%c0", "%c40", "init %b, %c1 : !llvm.ptr<3>, i32")}
  {_each_barrier("%c0", "%c30", _ARRIVE)}
  {_each_barrier("%c31", "%c40", _ARRIVE)}
  {_each_barrier("%c0", "%c30", _WAIT)}
  {_each_barrier("%c31", "%c40", _WAIT)}
  {_each_barrier("%c0", "%n", _WAIT)}
  {_each_barrier("%c0", "%c40", "inval %b : !llvm.ptr<3>")}
  func.return
}}
"""
"""Of forty barriers the 31st does not complete its phase; a loop that changes nothing waits for one after the other."""

EXTENDED_BY_ZEROS = """
func.func @f(%src: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %tile = memref.alloc() : memref<1xi32, 3>
  %forty = arith.constant 40 : i32
  %n32 = arith.index_cast %n : index to i32
  %less = arith.subi %n32, %forty : i32
  %wide = arith.extui %less : i32 to i64
  %thousand = arith.constant 1000 : i64
  %is = arith.cmpi sgt, %wide, %thousand : i64
  scf.for %i = %c0 to %n step %c1 {
    async_queue.commit 0 {
      async_queue.scope {
        %a = memref.load %src[%i] : memref<?xi32>
        memref.store %a, %tile[%c0] : memref<1xi32, 3>
      }
    }
    scf.if %is {
      async_queue.wait 0, 0 {
      }
    }
    %b = memref.load %tile[%c0] : memref<1xi32, 3>
  }
  async_queue.wait 0, 0 {
  }
  func.return
}
"""
"""n - 40 in 32 bits is large as an unsigned number while it is negative; then it is small, and a wait is left out."""

_ENTRIES = ", ".join(["0.0"] * 40 + ["1.0"] + ["0.0"] * 23)

TABLE_OF_FLOATS = f"""
"memref.global"() <{{
  sym_name = "table", type = memref<64xf32>, sym_visibility = "private", constant,
  initial_value = dense<[{_ENTRIES}]> : tensor<64xf32>
}}> : () -> ()
func.func @f(%src: memref<?xi32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %table = memref.get_global @table : memref<64xf32>
  %tile = memref.alloc() : memref<1xi32, 3>
  %first = memref.load %table[%c0] : memref<64xf32>
  scf.for %i = %c0 to %n step %c1 {{
    async_queue.commit 0 {{
      async_queue.scope {{
        %a = memref.load %src[%i] : memref<?xi32>
        memref.store %a, %tile[%c0] : memref<1xi32, 3>
      }}
    }}
    %v = memref.load %table[%i] : memref<64xf32>
    %is = arith.cmpf oeq, %v, %first : f32
    scf.if %is {{
      async_queue.wait 0, 0 {{
      }}
    }}
    %b = memref.load %tile[%c0] : memref<1xi32, 3>
  }}
  async_queue.wait 0, 0 {{
  }}
  func.return
}}
"""
"""Entry 40 of the table differs from the others: in that turn the wait is left out."""

CHOSEN_BY_A_FLOAT = """
func.func private @look(%b: memref<1xi32, 3>)
func.func @f(%src: memref<?xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %far = arith.constant 40.0 : f32
  %idle = memref.alloc() : memref<1xi32, 3>
  %busy = memref.alloc() : memref<1xi32, 3>
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f32) {
    async_queue.commit 0 {
      async_queue.scope {
        %v = memref.load %src[%i] : memref<?xi32>
        memref.store %v, %busy[%c0] : memref<1xi32, 3>
      }
    }
    %b = arith.addf %a, %one : f32
    %ok = arith.cmpf olt, %b, %far : f32
    %which = arith.select %ok, %idle, %busy : memref<1xi32, 3>
    func.call @look(%which) : (memref<1xi32, 3>) -> ()
    async_queue.wait 0, 0 {
    }
    scf.yield %b : f32
  }
  func.return
}
"""
"""From turn 39 on a function without a body is handed the buffer that a copy is still filling."""

PROVED_WRONGLY = [
    Program("a flag that a later turn overwrites with unknown data", ERASED_FLAG, 31, Verdict.UNDECIDED, decided=False),
    Program("a flag that one turn sets and restores", RESTORED_FLAG, 31, decided=False),
    Program("a flag that a store under way overwrites", FLAG_UNDER_WAY, 91, Verdict.UNDECIDED, decided=False),
    Program("waits for barriers in a row, one of them not complete", BARRIER_LEFT_OUT, 31, decided=False),
    Program("a negative number extended by zeros", EXTENDED_BY_ZEROS, 40),
    Program("a table of floats with one other entry", TABLE_OF_FLOATS, 41, decided=False),
    Program("a buffer that a float chooses for an unknown function", CHOSEN_BY_A_FLOAT, 40, Verdict.UNDECIDED, False),
]


# Places ---------------------------------------------------------------------------------------------------------------


class Where(Protocol):
    """A place for every turn."""

    def at(self, name: str, turn: str, type: str) -> str:
        """IR that computes `%name` from `%turn`."""
        ...


@dataclass(frozen=True)
class Down:
    """Down from `start`, by one with every turn."""

    start: int

    def at(self, name: str, turn: str, type: str) -> str:
        return f"""%{name}_start = arith.constant {self.start} : {type}
      %{name} = arith.subi %{name}_start, %{turn} : {type}"""


class Backwards:
    """From the last of n places to the first."""

    def at(self, name: str, turn: str, type: str) -> str:
        return f"""%{name}_one = arith.constant 1 : {type}
      %{name}_left = arith.subi %n, %{turn} : {type}
      %{name} = arith.subi %{name}_left, %{name}_one : {type}"""


class Beyond:
    """The n places behind the first n."""

    def at(self, name: str, turn: str, type: str) -> str:
        return f"%{name} = arith.addi %n, %{turn} : {type}"


EACH, EVEN, ODD = Place(1, 0), Place(2, 0), Place(2, 1)


def only(place: int) -> Place:
    """The same place, whatever the turn."""
    return Place(0, place)


def onwards(start: int) -> Place:
    """One place further with every turn."""
    return Place(1, start)


# A queue, and accesses of the thread ----------------------------------------------------------------------------------


def function(body: str, arguments: str = "%x: memref<?xi32>") -> str:
    """A function of the trip count `%n` and `arguments`."""
    return f"""
func.func @far({arguments}, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c90 = arith.constant 90 : index
  %seven = arith.constant 7 : i32
  {body}
  func.return
}}
"""


def loop(body: str, high: str = "%n") -> str:
    return f"""scf.for %i = %c0 to {high} step %c1 {{
    {body}
  }}
  """


def under_way(place: Where, *, queue: int = 0) -> str:
    """A store to `%x` that goes on until its queue is waited for."""
    name = f"p{queue}"
    return f"""{place.at(name, "i", "index")}
    async_queue.commit {queue} {{
      async_queue.scope {{
        memref.store %seven, %x[%{name}] : memref<?xi32>
      }}
    }}
    """


def wait(queue: int = 0, count: int = 0) -> str:
    return f"async_queue.wait {queue}, {count} {{\n  }}\n  "


def store(place: Where, turn: str = "n") -> str:
    """The thread stores to `%x` at once."""
    return f"{place.at('k', turn, 'index')}\n    memref.store %seven, %x[%k] : memref<?xi32>\n  "


def read(place: Where, turn: str = "n") -> str:
    """The thread loads from `%x` at once."""
    return f"{place.at('k', turn, 'index')}\n    %v = memref.load %x[%k] : memref<?xi32>\n  "


def touched(place: Where, access: str) -> str:
    """n stores are under way, `access` comes, and only then the wait."""
    return function(loop(under_way(place)) + access + wait())


def then_loop(place: Where, access: str) -> str:
    """n stores are under way while a second loop does `access` n times, and only then comes the wait."""
    return touched(place, loop(access))


LOADS_TWICE = function(
    loop("async_queue.commit 0 { async_queue.scope { %v = memref.load %x[%i] : memref<?xi32> } }")
    + loop("%w = memref.load %x[%i] : memref<?xi32>")
    + wait()
)

TWICE_AS_LONG = function(
    "%c2 = arith.constant 2 : index\n  %m = arith.muli %n, %c2 : index\n  "
    + loop(under_way(EACH), "%m")
    + loop(store(onwards(180), "i"))
    + wait()
)


def two_queues(last: str) -> str:
    """Stores from 0 on and from 100 on in two queues, of which every turn waits for the first; then `last`."""
    return function(loop(under_way(EACH) + under_way(onwards(100), queue=1) + wait(0)) + last)


def panels(stored: str, touched: str) -> str:
    """n stores under way to the rows of an array, in column `stored`, and one at once to row 90, column `touched`."""
    return function(
        loop(
            "async_queue.commit 0 { async_queue.scope { "
            f"memref.store %seven, %m[%i, %{stored}] : memref<?x128xi32> }} }}"
        )
        + f"memref.store %seven, %m[%c90, %{touched}] : memref<?x128xi32>\n  {wait()}",
        "%m: memref<?x128xi32>",
    )


QUEUES = [
    Program("a store at a fixed place", touched(EACH, store(only(90))), 91),
    Program("a load at a fixed place", touched(EACH, read(only(90))), 91),
    Program("a store at an odd place, stores at even ones", touched(EVEN, store(only(181))), None),
    Program("a store at an even place, stores at even ones", touched(EVEN, store(only(180))), 91),
    Program("stores that go down", touched(Down(1000), store(only(905))), 96),
    Program("stores that go down, away from the place", touched(Down(1000), store(only(1001))), None),
    Program("a store just behind the last", touched(EACH, store(EACH)), None),
    Program("a store behind the last, twice as far", touched(EACH, store(EVEN)), None),
    Program("stores at even places, a store at n + 90", touched(EVEN, store(onwards(90))), 92),
    Program("stores from the end on", touched(Backwards(), store(only(90))), 91),
    Program("stores from the end on, a store behind it", touched(Backwards(), store(EACH)), None),
    Program("a second loop beyond the first", then_loop(EACH, store(Beyond(), "i")), None),
    Program("a second loop 90 further", then_loop(EACH, store(onwards(90), "i")), 91),
    Program("a second loop 90 further, of loads", then_loop(EACH, read(onwards(90), "i")), 91),
    Program("a second loop at odd places", then_loop(EVEN, store(ODD, "i")), None),
    Program("a second loop at every third place", then_loop(EVEN, store(Place(3, 90), "i")), 46),
    Program("a second loop that goes down", then_loop(EACH, store(Down(240), "i")), 121),
    Program("a second loop that goes down, away", then_loop(onwards(600), store(Down(500), "i")), None),
    Program("a second loop behind one of twice as many turns", TWICE_AS_LONG, 91),
    Program("a second loop of loads where the first loads", LOADS_TWICE, None),
    Program(
        "three stores in flight, loads behind them",
        function(loop(under_way(onwards(3)) + wait(0, 3) + read(EACH, "i")) + wait()),
        None,
    ),
    Program("two queues, one of them waited for too late", two_queues(store(only(190)) + wait(1)), 91),
    Program("two queues that come to the same places", two_queues(wait(1) + store(only(190))), 101),
    Program("rows of 128, another column", panels("c0", "c1"), None),
    Program("rows of 128, the same column", panels("c1", "c1"), 91),
]


# Tasks and agents -----------------------------------------------------------------------------------------------------


def group(members: str, then: str, last: str) -> str:
    """A task with every turn stores to `%x`, in a group of `members`; `then` ends the turn, and `last` the function."""
    task = """%t = async.execute {
      memref.store %seven, %x[%i] : memref<?xi32>
      async.yield
    }
    %r = async.add_to_group %t, %g : !async.token
    """
    return function(f"%g = async.create_group {members} : !async.group\n  {loop(task + then)}{last}")


AWAITED = "async.await_all %g\n  "


def carried_tokens(last: str) -> str:
    """A turn awaits the task of three turns before, each of which stores to `%x`; then comes `last`."""
    return function(f"""%a0 = async.execute {{ async.yield }}
  %b0 = async.execute {{ async.yield }}
  %z0 = async.execute {{ async.yield }}
  %last:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0, %z = %z0)
      -> (!async.token, !async.token, !async.token) {{
    async.await %a : !async.token
    %new = async.execute {{
      memref.store %seven, %x[%i] : memref<?xi32>
      async.yield
    }}
    scf.yield %b, %z, %new : !async.token, !async.token, !async.token
  }}
  {last}""")


REST = "".join(f"async.await %last#{k} : !async.token\n  " for k in range(3))


def two_agents(first: Where, second: Where) -> str:
    """Two agents that store to `%x` and never meet."""
    return function(f"""nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    {loop(store(first, "i"))}
  }}, {{
    {loop(store(second, "i"))}
  }} : () -> ()""")


TASKS = [
    Program("a group of tasks, awaited before a store", group("%n", "", AWAITED + store(only(90))), None),
    Program("a group of tasks, awaited behind a store", group("%n", "", store(only(90)) + AWAITED), 91),
    Program("a group of 90 tasks", group("%c90", "async.await %t : !async.token", ""), 91, outcome=None, decided=False),
    Program("stores 90 ahead of the rank in a group", group("%n", store(onwards(90), "r"), AWAITED), None),
    Program("tokens of three turns ago", carried_tokens(REST + store(only(90))), None),
    Program("tokens of three turns ago, a store before the rest", carried_tokens(store(only(90)) + REST), 91),
    Program("two agents 90 places from each other", two_agents(EACH, onwards(90)), 91),
    Program("two agents at even and odd places", two_agents(EVEN, ODD), None),
]


# Shared memory and what copies it -------------------------------------------------------------------------------------

POINTERS = "%d: !llvm.ptr<1>, %s: !llvm.ptr<3>"
CONSTANTS = """%f = arith.constant dense<7.0> : vector<4xf32>
  %bytes = arith.constant 16 : i32
  %k = arith.constant 90 : i32
  %n32 = arith.index_cast %n : index to i32
  """
ELEMENT = """%i32 = arith.index_cast %i : index to i32
    %a = llvm.getelementptr %s[%i32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
    %b = llvm.getelementptr %d[%i32] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<4xf32>
    """
"""The element of either array with the number of the turn: 16 bytes, the least that a bulk copy moves."""

FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n  "
COMMIT = "nvvm.cp.async.bulk.commit.group\n  "
DONE = "nvvm.cp.async.bulk.wait_group 0\n  "
ALL_READ = "nvvm.cp.async.bulk.wait_group 0 {read}\n  "
ALL_READ_BUT_3 = "nvvm.cp.async.bulk.wait_group 3 {read}\n  "


def copied_out(fence_each: str, fence_all: str, place: str = "%k") -> str:
    """The thread stores n elements in shared memory, and a bulk copy reads the one at `place`."""
    return function(
        CONSTANTS
        + loop(fence_each + ELEMENT + "llvm.store %f, %a : vector<4xf32>, !llvm.ptr<3>")
        + f"""{fence_all}%p = llvm.getelementptr %s[{place}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  nvvm.cp.async.bulk.global.shared.cta %d, %p, %bytes : <1>, <3>
  {COMMIT}{DONE}""",
        POINTERS,
    )


def overwritten(array: str, before: str, after: str, each: str = "") -> str:
    """
    n bulk copies to `%d` from `%s`, and a store of the thread to element 90 of `array`, one of the two. What waits for
    the copies comes before it, after it, and `each` in every turn.
    """
    space = {"s": 3, "d": 1}[array]
    copy = f"nvvm.cp.async.bulk.global.shared.cta %b, %a, %bytes : <1>, <3>\n    {COMMIT}"
    return function(
        CONSTANTS
        + loop(ELEMENT + copy + each)
        + before
        + f"""%p = llvm.getelementptr %{array}[%k] : (!llvm.ptr<{space}>, i32) -> !llvm.ptr<{space}>, vector<4xf32>
  llvm.store %f, %p : vector<4xf32>, !llvm.ptr<{space}>
  {after}""",
        POINTERS,
    )


LOADED_TOO_EARLY = function(
    CONSTANTS
    + loop(
        ELEMENT
        + """nvvm.cp.async.shared.global %a, %b, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group"""
    )
    # All copies but the last are waited for.
    + """nvvm.cp.async.wait.group 1
  %p = llvm.getelementptr %s[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<4xf32>
  %v = llvm.load %p : !llvm.ptr<3> -> vector<4xf32>
  nvvm.cp.async.wait.group 0""",
    POINTERS,
)

_BARRIER = """%i32 = arith.index_cast %i : index to i32
    %a = llvm.getelementptr %bars[%i32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    """

BARRIERS_IN_A_ROW = function(
    """%one = arith.constant 1 : i32
  %ticks = arith.constant 1000 : i32
  """
    + loop(_BARRIER + "nvvm.mbarrier.init %a, %one : !llvm.ptr<3>, i32")
    + loop(
        _BARRIER
        + """nvvm.mbarrier.try_wait.parity %a, %one, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive %a : !llvm.ptr<3>"""
    ),
    "%bars: !llvm.ptr<3>",
)

COPIES = [
    Program("a bulk copy of what was not fenced", copied_out("", ""), 91),
    Program("a bulk copy of what was fenced", copied_out("", FENCE), None),
    Program("a bulk copy, with a fence before each store", copied_out(FENCE, ""), 91),
    Program("a bulk copy of what nobody stored", copied_out("", "", "%n32"), None),
    Program("a source of copies under way, overwritten", overwritten("s", "", DONE), 91),
    Program("a source, overwritten once all is read", overwritten("s", ALL_READ, DONE), None),
    Program("a target, overwritten once all is read", overwritten("d", ALL_READ, DONE), 91),
    Program("a source, overwritten once all is done", overwritten("s", DONE, ""), None),
    Program("a source of which each turn awaits the reading", overwritten("s", "", DONE, ALL_READ), None),
    Program("a source of which three are still read", overwritten("s", "", DONE, ALL_READ_BUT_3), 91),
    Program("a load before the last copy of a thread is complete", LOADED_TOO_EARLY, 91),
    Program("barriers in a row, each of the phase before", BARRIERS_IN_A_ROW, None),
]

PROGRAMS = [*PROVED_WRONGLY, *QUEUES, *TASKS, *COPIES]
