"""
Programs whose loops have leftovers with every turn: stores in flight until the end, tasks that are awaited at the end
only, elements that another agent has yet to learn of, a barrier for each tile.

In turn k they access place a k + b, for numbers a and b that a random generator picks. So an access and a leftover come
to overlap never, at once, or only many turns later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Place:
    """The place `by` times the turn, and `start`."""

    by: int
    start: int

    def at(self, name: str, turn: str, type: str) -> str:
        """IR that computes `%name` from `%turn`."""
        return f"""%{name}_by = arith.constant {self.by} : {type}
      %{name}_start = arith.constant {self.start} : {type}
      %{name}_times = arith.muli %{turn}, %{name}_by : {type}
      %{name} = arith.addi %{name}_times, %{name}_start : {type}"""


CONSTANTS = """%c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %bytes = arith.constant 16 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32"""


def load(name: str, array: str, place: Place, turn: str) -> str:
    """Read four bytes at the place, in units of 8 bytes."""
    return f"""{place.at(name, turn, "i32")}
      %{name}_p = llvm.getelementptr %{array}[%{name}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      %{name}_v = llvm.load %{name}_p : !llvm.ptr<1> -> f32"""


def stores(store: Place, *, before: str = "", after: str = "", early: str = "", late: str = "", leaves: int = 0) -> str:
    """
    16 bytes are stored with every turn, and only the end waits: `before` and `after` the store other things happen in
    the loop, `early` and `late` before and after that wait. The end `leaves` that many groups in flight.
    """
    return f"""
func.func @stores(%dst: !llvm.ptr<1>, %other: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %n: i32) {{
  {CONSTANTS}
  scf.for %k = %c0 to %n step %c1 : i32 {{
      {before}
      {store.at("place", "k", "i32")}
      %to = llvm.getelementptr %dst[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      nvvm.cp.async.bulk.global.shared.cta %to, %tile, %bytes : <1>, <3>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {{read}}
      {after}
  }}
      {early}
  nvvm.cp.async.bulk.wait_group {leaves}
      {late}
  func.return
}}
"""


def tasks(first: Place, second: Place, *, chained: bool, array: str = "x", ahead: str = "", at_end: str = "") -> str:
    """
    Two tasks with every turn, each of which writes a place, joined by a group; `chained`: a task waits for that of
    the turn before. `ahead` and `at_end` come before and after the group is awaited.
    """
    waits = "[%before]" if chained else ""
    return f"""
func.func @tasks(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  %all = arith.muli %n, %c2 : index
  %group = async.create_group %all : !async.group
  %start = async.execute {{
    async.yield
  }}
  %last = scf.for %k = %c0 to %n step %c1 iter_args(%before = %start) -> (!async.token) {{
    %a = async.execute {waits} {{
      {first.at("p", "k", "index")}
      memref.store %one, %x[%p] : memref<?xf32>
      async.yield
    }}
    %b = async.execute {{
      {second.at("q", "k", "index")}
      memref.store %one, %{array}[%q] : memref<?xf32>
      async.yield
    }}
    %rank_a = async.add_to_group %a, %group : !async.token
    %rank_b = async.add_to_group %b, %group : !async.token
    scf.yield %a : !async.token
  }}
      {ahead}
  async.await_all %group
      {at_end}
  func.return
}}
"""


def quantise(write: Place, read: Place, *, peek: str = "", fence: bool = True, again: str = "") -> str:
    """An agent writes all tiles and says so; another, which may `peek` before, then has them copied one by one."""
    fenced = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}" if fence else ""
    return f"""
func.func @quantise(%q: !llvm.ptr<1>, %tile: !llvm.ptr<3>, %done: !llvm.ptr<3>, %loaded: !llvm.ptr<3>, %n: i32) {{
  {CONSTANTS}
  nvvm.mbarrier.init %done, %c1 : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %loaded, %c1 : !llvm.ptr<3>, i32
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {write.at("place", "k", "i32")}
      %to = llvm.getelementptr %q[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      llvm.store %one, %to : f32, !llvm.ptr<1>
    }}
    {fenced}
    nvvm.mbarrier.arrive %done : !llvm.ptr<3>
    scf.for %k = %c0 to %n step %c1 : i32 {{
      {again}
    }}
  }}, {{
      {peek}
    nvvm.mbarrier.try_wait.parity %done, %c0, %ticks : !llvm.ptr<3>, i32, i32
    scf.for %k = %c0 to %n step %c1 : i32 {{
      %bit = arith.andi %k, %c1 : i32
      {read.at("place", "k", "i32")}
      %from = llvm.getelementptr %q[%place] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      nvvm.mbarrier.arrive.expect_tx %loaded, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.shared.cluster.global %tile, %from, %loaded, %bytes : !llvm.ptr<3>, <1>
      nvvm.mbarrier.try_wait.parity %loaded, %bit, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    }}
  }} : () -> ()
  func.return
}}
"""


def barriers(made: Place, used: Place, *, number: str = "%n", fenced: bool = True, parity: str = "%c0") -> str:
    """`number` barriers are made, and a copy is made through one of them in every turn."""
    fence = "nvvm.fence.mbarrier.init" if fenced else ""
    return f"""
func.func @barriers(%src: !llvm.ptr<1>, %tiles: !llvm.ptr<3>, %bars: !llvm.ptr<3>, %n: i32) {{
  {CONSTANTS}
  %c30 = arith.constant 30 : i32
  scf.for %k = %c0 to {number} step %c1 : i32 {{
      {made.at("place", "k", "i32")}
    %b = llvm.getelementptr %bars[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %b, %c1 : !llvm.ptr<3>, i32
  }}
  {fence}
  scf.for %k = %c0 to %n step %c1 : i32 {{
      {used.at("place", "k", "i32")}
    %b = llvm.getelementptr %bars[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %to = llvm.getelementptr %tiles[%k] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<4 x f32>
    %from = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>
    nvvm.mbarrier.arrive.expect_tx %b, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %to, %from, %b, %bytes : !llvm.ptr<3>, <1>
    nvvm.mbarrier.try_wait.parity %b, {parity}, %ticks : !llvm.ptr<3>, i32, i32
  }}
  func.return
}}
"""


# What a seed picks ------------------------------------------------------------------------------------------------


def _place(random: Random, *, far: int = 34) -> Place:
    return Place(random.choice([0, 1, 1, 1, 2, 3]), random.choice([0, 0, 1, 2, random.randrange(far)]))


def _fixed(random: Random) -> Place:
    return Place(0, random.randrange(80))


def _maybe(random: Random, text: Callable[[], str], chance: float = 0.4) -> str:
    return text() if random.random() < chance else ""


def _random_stores(random: Random) -> str:
    return stores(
        Place(random.choice([2, 2, 2, 3, 4]), random.choice([0, 0, 1, random.randrange(60)])),
        before=_maybe(random, lambda: load("b", "dst", Place(random.choice([0, 2, 2, 4]), random.randrange(80)), "k")),
        after=_maybe(random, lambda: load("a", "dst", Place(random.choice([0, 2, 3]), random.randrange(80)), "k")),
        early=_maybe(random, lambda: load("e", "dst", Place(random.choice([0, 2, 3]), random.randrange(60)), "n")),
        late=_maybe(random, lambda: load("l", "dst", _place(random), "n")),
        leaves=random.choice([0, 0, 0, 0, 0, 0, 9]),
    )


def _random_tasks(random: Random) -> str:
    def write(name: str) -> str:
        return f"{_place(random).at(name, 'n', 'index')}\n      memref.store %one, %x[%{name}] : memref<?xf32>"

    return tasks(
        Place(random.choice([1, 1, 2, 3]), random.choice([0, 0, 1, random.randrange(60)])),
        Place(random.choice([1, 1, 2, 3]), random.choice([0, 0, 1, random.randrange(60)])),
        chained=random.random() < 0.5,
        array=random.choice("xxy"),
        ahead=_maybe(random, lambda: write("early"), 0.2),
        at_end=_maybe(random, lambda: write("late"), 0.2),
    )


def _random_quantiser(random: Random) -> str:
    def write() -> str:
        place = Place(random.choice([0, 1, 2]), random.randrange(80))
        return f"""{place.at("w", "k", "i32")}
      %to = llvm.getelementptr %q[%w] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      llvm.store %one, %to : f32, !llvm.ptr<1>"""

    return quantise(
        _place(random),
        Place(random.choice([0, 1, 2]), random.choice([0, 0, random.randrange(40)])),
        peek=_maybe(random, lambda: load("p", "q", random.choice([_fixed, _place])(random), "n"), 0.3),
        fence=random.random() < 0.8,
        again=_maybe(random, write, 0.3),
    )


def _random_barriers(random: Random) -> str:
    by = random.choice([1, 1, 1, 2, 3])
    start = random.choice([0, 0, 1, 2, 7])
    same = random.random() < 0.6
    used = Place(by, start) if same else Place(random.choice([1, 1, 2, 3]), start + by * random.choice([0, 0, 1, 3]))
    return barriers(
        Place(by, start),
        used,
        number=random.choice(["%n", "%n", "%n", "%c30"]),
        fenced=random.random() < 0.9,
        parity=random.choice(["%c0", "%c0", "%c0", "%c1"]),
    )


FAMILIES: dict[str, Callable[[Random], str]] = {
    "stores": _random_stores,
    "tasks": _random_tasks,
    "quantiser": _random_quantiser,
    "barriers": _random_barriers,
}


def random_leftovers(family: str, seed: int) -> str:
    """A program of `family`."""
    return FAMILIES[family](Random(f"{family} {seed}"))


# What comes across each other many turns later ----------------------------------------------------------------------


@dataclass(frozen=True)
class Far:
    """A program that is wrong at a trip count far beyond those that are tried one after the other."""

    text: str
    wrong_at: int
    """The least such trip count."""


def _write(place: Place) -> str:
    return f"""{place.at("w", "k", "i32")}
      %w_p = llvm.getelementptr %q[%w] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i64
      llvm.store %one, %w_p : f32, !llvm.ptr<1>"""


WAIT_FOR_ALL = "nvvm.cp.async.bulk.wait_group 0"
EVERY_16_BYTES = Place(2, 0)
FROM_AFAR = Place(2, 200)
THERE = Place(0, 200)

FAR = {
    "stores come to a place that every turn reads": Far(
        stores(EVERY_16_BYTES, after=load("b", "dst", THERE, "k")), 101
    ),
    "stores come to a place that is read after the loop": Far(
        stores(EVERY_16_BYTES, early=load("e", "dst", THERE, "n")), 101
    ),
    "stores come to what earlier turns read": Far(stores(EVERY_16_BYTES, after=load("b", "dst", FROM_AFAR, "k")), 101),
    "reads follow the stores from afar": Far(stores(FROM_AFAR, after=load("b", "dst", EVERY_16_BYTES, "k")), 101),
    "the end reads what was stored first": Far(stores(FROM_AFAR, early=load("e", "dst", EVERY_16_BYTES, "n")), 100),
    "stores overtake reads": Far(stores(Place(4, 0), after=load("b", "dst", FROM_AFAR, "k")), 51),
    "tasks come to the places of others": Far(tasks(Place(1, 0), Place(1, 100), chained=False), 101),
    "a chain of tasks comes to the places of others": Far(tasks(Place(1, 0), Place(1, 100), chained=True), 101),
    "tasks overtake others": Far(tasks(Place(1, 100), Place(3, 1), chained=False), 34),
    "an element is read before all are written": Far(
        quantise(EVERY_16_BYTES, EVERY_16_BYTES, peek=load("p", "q", THERE, "n")), 101
    ),
    "an element is written again when it is copied": Far(
        quantise(EVERY_16_BYTES, EVERY_16_BYTES, again=_write(THERE)), 101
    ),
    "copies overtake elements that are written again": Far(
        quantise(EVERY_16_BYTES, EVERY_16_BYTES, again=_write(Place(1, 201))), 101
    ),
    "copies come to elements that were written again": Far(
        quantise(EVERY_16_BYTES, EVERY_16_BYTES, again=_write(Place(2, 300))), 151
    ),
}

NEVER = {
    "stores for which the end waits": stores(EVERY_16_BYTES),
    "stores that the end reads": stores(EVERY_16_BYTES, late=load("l", "dst", THERE, "n")),
    "stores beside what is read": stores(Place(4, 0), after=load("b", "dst", Place(4, 203), "k")),
    "stores far from what is read": stores(FROM_AFAR, early=load("e", "dst", Place(0, 7), "n")),
    "tasks side by side": tasks(Place(2, 0), Place(2, 101), chained=False),
    "a chain of tasks beside others": tasks(Place(2, 0), Place(2, 101), chained=True),
    "elements that are written, then copied": quantise(EVERY_16_BYTES, EVERY_16_BYTES),
    "elements copied in another distance": quantise(Place(1, 0), Place(4, 9)),
    "elements that a second loop leaves alone": quantise(Place(3, 0), Place(3, 0), again=_write(Place(3, 302))),
    "stores of which the last are awaited at the very end": stores(EVERY_16_BYTES, leaves=30, late=WAIT_FOR_ALL),
    "a barrier for each tile": barriers(Place(1, 0), Place(1, 0)),
    "a barrier for each tile, at some distance": barriers(Place(3, 7), Place(3, 7)),
}
"""Programs that never go wrong."""
