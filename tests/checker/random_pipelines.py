"""
Random pipelines in nests: one to three rings of 1 to 5 slots, two or three agents, nests of two and three loops.

Rings are mbarriers with parities, queues, or barriers at which everybody waits for the phase of its own arrival. Steps
are as many as an argument says, or what is computed from one; some are peeled off, some are guarded. In each of them a
fault may be put in ten ways.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm

QUEUE = "!nv_tileaa.queue<[tensor<8xf32>], depth = {}>"
CONSTANTS = (0, 1, 2, 3, 4, 5, 8, 300)

STEPS: Mapping[str, tuple[str, str]] = {
    "all": ("", "%c0 to {0} step %c1"),
    "one more": ("%many = arith.addi {0}, %c1 : i32", "%c0 to %many step %c1"),
    "from the second on": ("", "%c1 to {0} step %c1"),
    "every second": ("", "%c0 to {0} step %c2"),
    "half of them": ("%many = arith.divui {0}, %c2 : i32", "%c0 to %many step %c1"),
    "four at a time": (
        "%more = arith.addi {0}, %c3 : i32\n%many = arith.divui %more, %c4 : i32",
        "%c0 to %many step %c1",
    ),
    "at most five": ("%many = arith.minsi {0}, %c5 : i32", "%c0 to %many step %c1"),
    "as the tile says": ("", "%c0 to %t step %c1"),
    "one more than the tile says": ("%many = arith.addi %t, %c1 : i32", "%c0 to %many step %c1"),
    "three": ("", "%c0 to %c3 step %c1"),
    "three hundred": ("", "%c0 to %c300 step %c1"),
}
"""What comes before the loop over steps, and its bounds; {0} is the argument that bounds it."""

GUARDS: Mapping[str, str] = {
    "none": "",
    "two steps ahead": "%later = arith.addi %j, %c2 : i32\n%is = arith.cmpi slt, %later, {0} : i32",
    "the last step": "%later = arith.addi %j, %c1 : i32\n%is = arith.cmpi eq, %later, {0} : i32",
    "from the third step on": "%is = arith.cmpi sge, %j, %c2 : i32",
    "many tiles": "%is = arith.cmpi sgt, %n, %c3 : i32",
    "the second tile": "%is = arith.cmpi eq, %t, %c1 : i32",
}
"""Where the last agent looks at the source."""

PLACES_IN_TURN = "of each step, at three places in turn"
STORES: Mapping[str, tuple[str, str]] = {
    "none": ("", ""),
    "of each tile": ("", "%t"),
    "of each step": ("%k", ""),
    PLACES_IN_TURN: ("%third", ""),
}
"""Where the last agent stores something: in each step, and for each tile."""

DEPTHS: Mapping[str, Sequence[tuple[int, ...]]] = {
    # With parities a state tells counts apart modulo twice the least common multiple of the depths.
    "mbarriers": ((1,), (2,), (3,), (4,), (5,), (1, 2), (2, 2), (2, 4), (3, 3), (1, 1, 2), (2, 2, 2)),
    "queues": ((1,), (2,), (3,), (4,), (5,), (1, 3), (2, 3), (4, 5), (2, 2), (1, 2, 3), (2, 2, 2), (1, 1, 4)),
    "phases": ((1,), (2,), (3,), (1, 1), (2, 2), (1, 2)),
}

FAULTS: Mapping[str, Sequence[str]] = {
    "mbarriers": (
        "no wait for a free slot",
        "no wait for a full slot",
        "no release",
        "no arrival",
        "no fence",
        "the other parity",
        "the other parity in a consumer",
        "a slot more",
        "a step more",
        "loops taken for each other",
    ),
    "queues": (
        "no get",
        "a get twice",
        "a put twice",
        "no get in the first step",
        "a get more in the third tile",
        "a get more at the end",
        "a put more in each tile",
        "without the first tile",
        "a step more",
        "loops taken for each other",
    ),
    "phases": (
        "no wait",
        "no second wait",
        "no arrival",
        "no second arrival",
        "a second arrival",
        "the state of the other barrier",
        "without the first tile",
        "a slot more",
        "a step more",
        "loops taken for each other",
    ),
}


@dataclass(frozen=True)
class Pipeline:
    """A right program."""

    kind: str
    depths: tuple[int, ...]
    """The slots of each ring."""
    agents: int
    arguments: str
    """Those that bound the loops, from the outside in."""
    steps: str
    guard: str
    peels: bool
    """Whether the last agent has its first step in front of the loop."""
    stores: str

    def __str__(self) -> str:
        words = [self.kind, f"slots {self.depths}", f"{self.agents} agents", f"loops {self.arguments}"]
        words += [f"steps: {self.steps}", f"guard: {self.guard}", f"stores: {self.stores}"]
        return "; ".join([*words, *["peeled"] * self.peels])

    @property
    def is_slow(self) -> bool:
        """Whether a proof takes tens of seconds: parities of many slots, or three places in turn beside rings."""
        has_many = self.kind == "mbarriers" and lcm(*self.depths) > 2
        return has_many or (self.stores == PLACES_IN_TURN and len(self.depths) > 1)

    @property
    def bounds(self) -> tuple[str, ...]:
        """The arguments that do bound loops."""
        text = "".join(STEPS[self.steps]) + GUARDS[self.guard]
        return tuple(self.arguments if "{0}" in text else self.arguments[:-1])

    def moves(self, agent: int) -> Iterator[tuple[str, int]]:
        """What `agent` does in a step: "put" or "get", and the ring."""
        rings = range(len(self.depths))
        if self.agents == 2 or len(self.depths) == 1:
            yield from (("get" if agent else "put", ring) for ring in rings)
        elif agent == 1:
            yield from (("get", 0), ("put", 1))
        else:
            yield from (("put", ring) for ring in rings if not agent and ring != 1)
            yield from (("get", ring) for ring in rings if agent and ring)


def pipeline(seed: int) -> Pipeline:
    """Program number `seed`."""
    pick = random.Random(seed)
    kind = pick.choice(list(DEPTHS))
    depths = pick.choice(DEPTHS[kind])
    # Everything that is put into a queue is taken out once.
    agents = 2 if kind == "queues" and len(depths) == 1 else pick.choice((2, 3))
    arguments = pick.choice(("nm", "nm", "nmp"))
    steps = pick.choice(list(STEPS))
    guard = pick.choice([name for name, text in GUARDS.items() if "{0}" not in text or steps == "all"])
    peels = steps in ("all", "one more") and pick.random() < 0.3
    # Three places in turn make three times as many states of a ring that has others.
    stores = list(STORES) if kind == "queues" or max(depths) in (1, 3) else list(STORES)[:-1]
    return Pipeline(kind, depths, agents, arguments, steps, guard, peels, pick.choice(stores))


def written(program: Pipeline, fault: str = "") -> str:
    """The text of `program`, with `fault` in it."""
    return _Writer(program, fault).function()


class _Writer:
    def __init__(self, program: Pipeline, fault: str) -> None:
        self.program = program
        self.fault = fault
        self.last = program.agents - 1

    def function(self) -> str:
        program = self.program
        pointers = ["%src: !llvm.ptr<1>", "%out: !llvm.ptr<1>"]
        for ring in range(len(program.depths)):
            pointers += [f"%{name}{ring}: !llvm.ptr<3>" for name in ("ring", "full", "empty")]
        counts = [f"%{name}: i32" for name in program.arguments]
        constants = [f"%c{number} = arith.constant {number} : i32" for number in CONSTANTS]
        sizes = [f"%slots{ring} = arith.constant {depth} : i32" for ring, depth in enumerate(program.depths)]
        sizes += [f"%wrong{ring} = arith.constant {depth + 1} : i32" for ring, depth in enumerate(program.depths)]
        made = [self._made(ring) for ring in range(len(program.depths))]
        agents = "\n}, {\n".join(self._agent(agent) for agent in range(program.agents))
        groups = ", ".join("1" * program.agents)
        return "\n".join(
            [
                f"func.func @k(%v: tensor<8xf32>, {', '.join(pointers + counts)}) {{",
                *constants,
                *sizes,
                "%bytes = arith.constant 1024 : i32\n%ticks = arith.constant 1000 : i32",
                "%one = arith.constant 1.0 : f32\n%true = arith.constant true",
                *made,
                "nvvm.fence.mbarrier.init" if program.kind != "queues" else "",
                f"nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {groups}>}} {{",
                agents,
                "} : () -> ()\nfunc.return\n}",
            ]
        )

    def _made(self, ring: int) -> str:
        """The ring before its first use."""
        program = self.program
        takers = sum(("get", ring) in list(program.moves(agent)) for agent in range(program.agents))
        if program.kind == "queues":
            return f"%q{ring} = nv_tileaa.create_queue : () -> {QUEUE.format(program.depths[ring])}"
        full, empty = (takers + 1, takers + 1) if program.kind == "phases" else (1, takers)
        return f"""scf.for %s = %c0 to %slots{ring} step %c1 : i32 {{
  %f = llvm.getelementptr %full{ring}[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  %e = llvm.getelementptr %empty{ring}[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
  nvvm.mbarrier.init %f, %c{full} : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %e, %c{empty} : !llvm.ptr<3>, i32
}}"""

    # Agents ----------------------------------------------------------------------------------------------------------

    def _has(self, fault: str, agent: int, ring: int) -> bool:
        """Whether `agent` has that fault: one of the last agent, or of the first one, at its first ring."""
        first = next(number for _, number in self.program.moves(agent))
        of_first = fault in ("no wait for a free slot", "no arrival", "the other parity") or "put" in fault
        return fault == self.fault and agent == (0 if of_first else self.last) and ring == first

    def _is_off(self, fault: str, agent: int) -> bool:
        """Whether the last agent has a fault that is at no ring."""
        return fault == self.fault and agent == self.last

    def _agent(self, agent: int) -> str:
        program, names = self.program, list(self.program.arguments)
        if self._is_off("loops taken for each other", agent):
            names[0], names[-1] = names[-1], names[0]
        *outer, inner = [f"%{name}" for name in names]
        first = "%c1" if self._is_off("without the first tile", agent) else "%c0"
        variables = ["%t", "%u"][: len(outer)][::-1]
        text = self._steps(agent, inner)
        if agent == self.last:
            text += _stored_at(STORES[program.stores][1])
        if self._has("a put more in each tile", agent, 0):
            text += self._put_in_queue(0)
        if self._is_off("a get more in the third tile", agent):
            text += f"%third = arith.cmpi eq, %t, %c2 : i32\nscf.if %third {{\n{self._get_of_last()}}}\n"
        carried = "%k1"
        for depth, (variable, bound) in enumerate(zip(reversed(variables), reversed(outer), strict=True)):
            is_outermost = depth == len(outer) - 1
            start, into = (first if is_outermost else "%c0"), ("%c0" if is_outermost else f"%i{depth + 1}")
            text = (
                f"%e{depth} = scf.for {variable} = {start} to {bound} step %c1 iter_args(%i{depth} = {into}) -> (i32)"
                f" : i32 {{\n{text}scf.yield {carried} : i32\n}}\n"
            )
            carried = f"%e{depth}"
        return text + (self._get_of_last() if self._is_off("a get more at the end", agent) else "")

    def _steps(self, agent: int, bound: str) -> str:
        """The loop over the steps of a tile: from %i0 to %k1."""
        program = self.program
        before, bounds = (part.format(bound) for part in STEPS[program.steps])
        first, _, end, _, step = bounds.split()
        more = ""
        if self._is_off("a step more", agent):
            more, end = f"%extra = arith.addi {end}, %c1 : i32\n", "%extra"
        text, into = f"{before}\n{more}", "%i0"
        if program.peels and agent == self.last:
            text += f"%some = arith.cmpi sgt, {end}, %c0 : i32\n%peeled = scf.if %some -> (i32) {{\n"
            text += self._step(agent, "%i0", "p", bound, guarded=False)
            text += "%kp = arith.addi %i0, %c1 : i32\nscf.yield %kp : i32\n} else {\nscf.yield %i0 : i32\n}\n"
            first, into = "%c1", "%peeled"
        return (
            f"{text}%k1 = scf.for %j = {first} to {end} step {step} iter_args(%k = {into}) -> (i32) : i32 {{\n"
            f"{self._step(agent, '%k', '', bound, guarded=agent == self.last)}"
            "%kn = arith.addi %k, %c1 : i32\nscf.yield %kn : i32\n}\n"
        )

    def _step(self, agent: int, count: str, suffix: str, bound: str, *, guarded: bool) -> str:
        program, text = self.program, ""
        guard = GUARDS[program.guard].format(bound)
        if guarded and guard:
            text += f"{guard}\nscf.if %is {{\n%seen = llvm.load %src : !llvm.ptr<1> -> f32\n}}\n"
        if guarded:
            place = STORES[program.stores][0]
            text += "%third = arith.remui %k, %c3 : i32\n" if place == "%third" else ""
            text += _stored_at(place)
        for number, (move, ring) in enumerate(program.moves(agent)):
            name = f"{suffix}{number}"
            if program.kind == "queues":
                text += self._queued(agent, move, ring, guarded=guarded)
                continue
            slots = "wrong" if self._has("a slot more", agent, ring) else "slots"
            text += f"""%s{name} = arith.remui {count}, %{slots}{ring} : i32
%f{name} = llvm.getelementptr %full{ring}[%s{name}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
%e{name} = llvm.getelementptr %empty{ring}[%s{name}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
%p{name} = llvm.getelementptr %ring{ring}[%s{name}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
"""
            write = self._with_phases if program.kind == "phases" else self._with_parities
            text += write(agent, move, ring, name, count)
        return text

    # Rings -----------------------------------------------------------------------------------------------------------

    def _put_in_queue(self, ring: int) -> str:
        queue = QUEUE.format(self.program.depths[ring])
        return f"nv_tileaa.queue.put %q{ring}, %v : ({queue}, tensor<8xf32>) -> ()\n"

    def _get_from_queue(self, ring: int) -> str:
        return f"nv_tileaa.queue.get %q{ring} : ({QUEUE.format(self.program.depths[ring])}) -> tensor<8xf32>\n"

    def _get_of_last(self) -> str:
        return self._get_from_queue(next(ring for move, ring in self.program.moves(self.last) if move == "get"))

    def _queued(self, agent: int, move: str, ring: int, *, guarded: bool) -> str:
        if move == "put":
            return self._put_in_queue(ring) * (1 + self._has("a put twice", agent, ring))
        if self._has("no get", agent, ring):
            return ""
        get = self._get_from_queue(ring)
        if self._has("no get in the first step", agent, ring):
            return f"%later{ring} = arith.cmpi ne, %j, %c0 : i32\nscf.if %later{ring} {{\n{get}}}\n" if guarded else ""
        return get * (1 + self._has("a get twice", agent, ring))

    def _with_parities(self, agent: int, move: str, ring: int, name: str, count: str) -> str:
        text = f"""%r{name} = arith.divui {count}, %slots{ring} : i32
%b{name} = arith.andi %r{name}, %c1 : i32
%t{name} = arith.xori %b{name}, %c1 : i32
"""
        wait = "nvvm.mbarrier.try_wait.parity {}, {}, %ticks : !llvm.ptr<3>, i32, i32\n".format
        if move == "put":
            if not self._has("no wait for a free slot", agent, ring):
                text += wait(f"%e{name}", f"%{'b' if self._has('the other parity', agent, ring) else 't'}{name}")
            text += (
                f"%x{name} = llvm.getelementptr %src[{count}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, "
                "!llvm.array<256 x f32>\n"
            )
            if not self._has("no arrival", agent, ring):
                text += f"nvvm.mbarrier.arrive.expect_tx %f{name}, %bytes : !llvm.ptr<3>, i32\n"
            return text + (
                f"nvvm.cp.async.bulk.shared.cluster.global %p{name}, %x{name}, %f{name}, %bytes : !llvm.ptr<3>, <1>\n"
            )
        if not self._has("no wait for a full slot", agent, ring):
            is_other = self._has("the other parity in a consumer", agent, ring)
            text += wait(f"%f{name}", f"%{'t' if is_other else 'b'}{name}")
        text += f"%v{name} = llvm.load %p{name} : !llvm.ptr<3> -> f32\n"
        if not self._has("no fence", agent, ring):
            text += "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
        return text + (
            "" if self._has("no release", agent, ring) else f"nvvm.mbarrier.arrive %e{name} : !llvm.ptr<3>\n"
        )

    def _with_phases(self, agent: int, move: str, ring: int, name: str, _count: str) -> str:
        """Write or read between two barriers at which all wait."""

        def met(barrier: str, arrives: int, *, waits: bool, state: str) -> str:
            text = "".join(
                f"%st{barrier}{name}{again} = nvvm.mbarrier.arrive %{barrier}{name} : !llvm.ptr<3> -> i64\n"
                for again in range(arrives)
            )
            if not waits or not arrives:
                return text
            return f"""{text}scf.while : () -> () {{
  %over{barrier}{name} = nvvm.mbarrier.test.wait %{barrier}{name}, %st{state}{name}0 : !llvm.ptr<3>, i64 -> i1
  %not{barrier}{name} = arith.xori %over{barrier}{name}, %true : i1
  scf.condition(%not{barrier}{name})
}} do {{
  scf.yield
}}
"""

        has_first = not self._has("no arrival", agent, ring)
        text = f"llvm.store %one, %p{name} : f32, !llvm.ptr<3>\n" if move == "put" else ""
        text += met("f", int(has_first), waits=not self._has("no wait", agent, ring), state="f")
        if move == "get":
            text += f"%v{name} = llvm.load %p{name} : !llvm.ptr<3> -> f32\n"
        arrivals = 0 if self._has("no second arrival", agent, ring) else 1 + self._has("a second arrival", agent, ring)
        is_other = self._has("the state of the other barrier", agent, ring)
        waits = not self._has("no second wait", agent, ring)
        return text + met("e", arrivals, waits=waits, state="f" if is_other else "e")


def _stored_at(place: str) -> str:
    if not place:
        return ""
    return (
        f"%there = llvm.getelementptr %out[{place}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
        "llvm.store %one, %there : f32, !llvm.ptr<1>\n"
    )


def calls_of(program: Pipeline, seed: int, number: int = 25) -> list[dict[str, int]]:
    """Calls at the corners, around the depths of rings, and three far ones."""
    pick, depth = random.Random(seed), max(program.depths)
    corners = sorted({0, 1, depth - 1, depth, depth + 1, 2 * depth, 2 * depth + 1})
    near = list(product(corners, repeat=len(program.bounds)))
    far = [[2] * len(program.bounds) for _ in range(3)]
    far[0][-1], far[1][-1], far[2][0] = 97, 130, 97
    long = program.steps == "three hundred"
    found = [*pick.sample(near, min(number - len(far), len(near))), *([] if long else far)]
    return [dict(zip(program.bounds, call, strict=True)) for call in found if not long or max(call) < 5]
