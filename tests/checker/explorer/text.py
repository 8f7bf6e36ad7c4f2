"""From statements to IR: `text_of(source)` is a module with a function `main`, and the helpers that it calls."""

from __future__ import annotations

import re

from tests.checker.explorer.statements import BARRIERS, CELLS, GIVEN, ON_POINTERS, RETURNS, VALUE, Source, Stmt, at


def text_of(source: Source) -> str:
    """The program as IR."""
    return _Writer(source).module()


class _Writer:
    """Prints statements; keeps what is in scope where it stands."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[str] = []
        self.fresh_names = 0
        self.last_helper = -1
        """The helper that is being written, which may only call those after it."""
        self.iteration: str | None = None
        """The induction variable of the innermost loop."""
        self.depths: dict[int, int] = {}
        """Queue of tiles -> how many slots it has."""
        self.scope: dict[int, tuple[str, str]] = {}
        """Token or group -> its kind and its SSA name."""

    def module(self) -> str:
        on_pointers = self.source.model in ON_POINTERS
        header = POINTER_ARGUMENTS if on_pointers else MEMREF_ARGUMENTS
        if self.source.model == "tiles":
            header += f", %tile: {TILE}"
        for number, body in enumerate(self.source.helpers):
            self.last_helper = number
            if self.source.model == "functions":
                self.async_function(number, body)
            else:
                self.function(f"func.func private @helper{number}({header})", body, "func.return")
        self.last_helper = -1
        self.function(f"func.func @main({header})", self.source.body, "func.return")
        return "\n".join(self.lines) + "\n"

    def async_function(self, number: int, body: list[Stmt]) -> None:
        """Places in it go by the number that it is given."""
        returned = RETURNS[number]
        types = ", ".join(TYPES[kind] for kind in returned)
        head = f"async.func @helper{number}({MEMREF_ARGUMENTS}, %p: index, %given: !async.token) -> ({types})"
        self.scope, self.iteration = {GIVEN: ("token", "%given")}, "%p"
        self.function(head, body, "async.return %n7 : i32" if "value" in returned else "async.return")
        self.scope, self.iteration = {}, None

    def function(self, head: str, body: list[Stmt], last: str) -> None:
        outer, self.lines = self.lines, []
        self.statements(body)
        self.emit(last)
        used = set(re.findall(r"%\w+", "\n".join(self.lines)))
        constants = [f"{name} = {value}" for name, value in CONSTANTS.items() if name in used]
        self.lines = [*outer, f"{head} {{", *constants, *self.lines, "}"]

    def statements(self, body: list[Stmt]) -> None:
        for statement in body:
            getattr(self, f"write_{statement.kind}")(statement)

    def region(self, body: list[Stmt]) -> None:
        """Statements in a scope of their own."""
        outer, iteration = dict(self.scope), self.iteration
        self.statements(body)
        self.scope, self.iteration = outer, iteration

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def value(self, operation: str) -> str:
        """A new SSA value, computed by `operation`."""
        self.fresh_names += 1
        name = f"%v{self.fresh_names}"
        self.emit(f"{name} = {operation}")
        return name

    def index(self, place: list[int], most: int) -> str:
        """An SSA value of type index: what a place comes to, below `most`."""
        base, depth, shift = place
        if not depth or self.iteration is None:
            return f"%c{min(base, most - 1)}"
        moved = self.value(f"arith.addi {self.iteration}, %c{shift} : index")
        turned = self.value(f"arith.remui {moved}, %c{depth} : index")
        return self.value(f"arith.addi {turned}, %c{max(0, min(base, most - depth))} : index")

    def pointer(self, base: str, place: list[int], space: int, element: str, most: int = 8) -> str:
        index = self.index(place, most)
        type_ = f"!llvm.ptr<{space}>"
        if index.startswith("%c"):
            return self.value(f"llvm.getelementptr {base}[{index[2:]}] : ({type_}) -> {type_}, {element}")
        wide = self.value(f"arith.index_cast {index} : index to i64")
        return self.value(f"llvm.getelementptr {base}[{wide}] : ({type_}, i64) -> {type_}, {element}")

    def names(self, uses: list[int], kind: str) -> list[str]:
        """The SSA names of those of `uses` that are in scope and of this kind."""
        found = [self.scope[use] for use in uses if use in self.scope]
        return [name for actual, name in found if actual == kind]

    # Accesses and control flow

    def write_load(self, statement: Stmt) -> None:
        array, *place = statement.numbers
        if self.source.model in ON_POINTERS:
            name, space = POINTERS[array]
            self.value(f"llvm.load {self.pointer(name, place, space, WORD)} : !llvm.ptr<{space}> -> i32")
        else:
            self.value(f"memref.load %{'ab'[array]}[{self.index(place, CELLS)}] : memref<{CELLS}xi32>")

    def write_store(self, statement: Stmt) -> None:
        array, *place = statement.numbers
        if self.source.model in ON_POINTERS:
            name, space = POINTERS[array]
            self.emit(f"llvm.store %n7, {self.pointer(name, place, space, WORD)} : i32, !llvm.ptr<{space}>")
        else:
            self.emit(f"memref.store %n7, %{'ab'[array]}[{self.index(place, CELLS)}] : memref<{CELLS}xi32>")

    def write_loop(self, statement: Stmt) -> None:
        self.fresh_names += 1
        variable = f"%i{self.fresh_names}"
        self.emit(f"scf.for {variable} = %c0 to %c{statement.numbers[0]} step %c1 {{")
        outer, self.iteration = self.iteration, variable
        self.region(statement.bodies[0])
        self.iteration = outer
        self.emit("}")

    def write_agents(self, statement: Stmt) -> None:
        sizes = ", ".join(map(str, statement.numbers))
        self.emit(f"nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {sizes}>}} {{")
        for number, body in enumerate(statement.bodies):
            if number:
                self.emit("}, {")
            self.emit("^bb0:")
            self.region(body)
        self.emit("} : () -> ()")

    def write_call(self, statement: Stmt) -> None:
        if self.last_helper < (number := statement.numbers[0]) < len(self.source.helpers):
            self.emit(f"func.call @helper{number}(%l, %g, %bar) : (!llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>) -> ()")

    # Tokens

    def write_task(self, statement: Stmt) -> None:
        after = self.names(statement.uses, "token")
        self.fresh_names += 1
        name = f"%t{self.fresh_names}"
        dependencies = f"[{', '.join(after)}] " if after else ""
        self.emit(f"{name} = async.execute {dependencies}{{")
        self.region(statement.bodies[0])
        self.emit("async.yield\n}")
        assert statement.name is not None
        self.scope[statement.name] = ("token", name)

    def write_await(self, statement: Stmt) -> None:
        for name in self.names(statement.uses, "token"):
            self.emit(f"async.await {name} : !async.token")
        for name in self.names(statement.uses, "value"):
            self.value(f"async.await {name} : !async.value<i32>")

    def write_group(self, statement: Stmt) -> None:
        assert statement.name is not None
        name = self.value(f"async.create_group %c{statement.numbers[0]} : !async.group")
        self.scope[statement.name] = ("group", name)

    def write_add(self, statement: Stmt) -> None:
        tokens, groups = self.names(statement.uses, "token"), self.names(statement.uses, "group")
        for token, group in zip(tokens, groups, strict=False):
            self.value(f"async.add_to_group {token}, {group} : !async.token")

    def write_await_all(self, statement: Stmt) -> None:
        for group in self.names(statement.uses, "group"):
            self.emit(f"async.await_all {group}")

    def write_carry(self, statement: Stmt) -> None:
        """Name N is carried: -N is the token that an iteration begins with, N the one after the loop."""
        assert statement.name is not None
        initial = self.names(statement.uses, "token")
        if not initial:
            return
        self.fresh_names += 1
        number = self.fresh_names
        result, variable, before = f"%r{number}", f"%i{number}", f"%k{number}"
        self.emit(
            f"{result} = scf.for {variable} = %c0 to %c{statement.numbers[0]} step %c1 "
            f"iter_args({before} = {initial[0]}) -> (!async.token) {{"
        )
        outer, iteration = dict(self.scope), self.iteration
        self.scope[-statement.name], self.iteration = ("token", before), variable
        self.statements(statement.bodies[0])
        new = [
            name for key, (kind, name) in self.scope.items() if kind == "token" and (kind, name) not in outer.values()
        ]
        self.emit(f"scf.yield {new[-1]} : !async.token\n}}")
        self.scope, self.iteration = outer, iteration
        self.scope[statement.name] = ("token", result)

    def write_async_call(self, statement: Stmt) -> None:
        number, *place = statement.numbers
        if not self.last_helper < number < len(self.source.helpers):
            return
        given = self.names(statement.uses, "token") or [self.value("async.execute { async.yield }")]
        index = self.index(place, CELLS)
        self.fresh_names += 1
        results = {kind: f"%{kind}{self.fresh_names}" for kind in RETURNS[number]}
        memref = f"memref<{CELLS}xi32>"
        self.emit(
            f"{', '.join(results.values())} = async.call @helper{number}(%a, %b, {index}, {given[0]}) "
            f": ({memref}, {memref}, index, !async.token) -> ({', '.join(TYPES[kind] for kind in results)})"
        )
        if statement.name is not None:
            names = [statement.name, statement.name + VALUE]
            self.scope.update(zip(names, results.items(), strict=False))

    # Queues

    def queue(self, place: list[int]) -> str:
        value = self.index(place, 8)
        return value[2:] if value.startswith("%c") else value

    def write_commit(self, statement: Stmt) -> None:
        self.emit(f"async_queue.commit {self.queue(statement.numbers)} {{")
        self.region(statement.bodies[0])
        self.emit("}")

    def write_scope(self, statement: Stmt) -> None:
        self.emit("async_queue.scope {")
        self.region(statement.bodies[0])
        self.emit("}")

    def write_wait(self, statement: Stmt) -> None:
        *place, count = statement.numbers
        queue = self.queue(place)
        self.emit(f"async_queue.wait {queue}, {count if queue.isdigit() else f'%c{count}'} {{")
        self.region(statement.bodies[0])
        self.emit("}")

    # Queues of tiles

    def queue_type(self, number: int) -> str:
        return f"!nv_tileaa.queue<[{TILE}], depth = {self.depths[number]}>"

    def write_make(self, statement: Stmt) -> None:
        number, depth = statement.numbers
        self.depths[number] = max(depth, 1)
        self.emit(f"%q{number} = nv_tileaa.create_queue : () -> {self.queue_type(number)}")

    def write_put(self, statement: Stmt) -> None:
        (number,) = statement.numbers
        self.emit(f"nv_tileaa.queue.put %q{number}, %tile : ({self.queue_type(number)}, {TILE}) -> ()")

    def write_get(self, statement: Stmt) -> None:
        (number,) = statement.numbers
        self.value(f"nv_tileaa.queue.get %q{number} : ({self.queue_type(number)}) -> {TILE}")

    # Numbers in memory

    def write_zero(self, _statement: Stmt) -> None:
        self.emit("llvm.store %n0, %bar : i32, !llvm.ptr<3>")

    def write_bump(self, statement: Stmt) -> None:
        self.add(statement.numbers[0])

    def write_ticket(self, statement: Stmt) -> None:
        ordering, number = statement.numbers
        condition = self.value(f"arith.cmpi eq, {self.add(ordering)}, %n{number} : i32")
        self.emit(f"scf.if {condition} {{")
        self.region(statement.bodies[0])
        self.emit("}")

    def add(self, ordering: int) -> str:
        word = ("monotonic", "release", "acq_rel")[ordering]
        return self.value(f"llvm.atomicrmw add %bar, %n1 {word} : !llvm.ptr<3>, i32")

    def write_until(self, statement: Stmt) -> None:
        number, or_more, acquires = statement.numbers
        self.emit("scf.while : () -> () {")
        word = "acquire" if acquires else "monotonic"
        found = self.value(f"llvm.load %bar atomic {word} {{alignment = 4 : i64}} : !llvm.ptr<3> -> i32")
        more = self.value(f"arith.cmpi {'slt' if or_more else 'ne'}, {found}, %n{number} : i32")
        self.emit(f"scf.condition({more})\n}} do {{\nscf.yield\n}}")

    # Marks

    def write_copy(self, statement: Stmt) -> None:
        source = self.pointer("%g", statement.numbers[:3], 1, WORD)
        target = self.pointer("%l", statement.numbers[3:], 3, WORD)
        self.emit(f"rocdl.global.load.async.lds {source}, {target}, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>")

    def write_mark(self, _statement: Stmt) -> None:
        self.emit("rocdl.asyncmark")

    def write_wait_marks(self, statement: Stmt) -> None:
        self.emit(f"rocdl.wait.asyncmark {statement.numbers[0]}")

    # Barriers

    def barrier(self, place: list[int]) -> str:
        return self.pointer("%bar", place, 3, "i64", BARRIERS)

    def write_init(self, statement: Stmt) -> None:
        number, count = statement.numbers
        self.emit(f"nvvm.mbarrier.init {self.barrier(at(number))}, %n{count} : !llvm.ptr<3>, i32")
        self.emit("nvvm.fence.mbarrier.init")

    def write_arrive(self, statement: Stmt) -> None:
        *place, count = statement.numbers
        several = f", %n{count}" if count > 1 else ""
        self.emit(f"nvvm.mbarrier.arrive {self.barrier(place)}{several} : !llvm.ptr<3>")

    def write_arrive_expect(self, statement: Stmt) -> None:
        *place, words = statement.numbers
        self.emit(f"nvvm.mbarrier.arrive.expect_tx {self.barrier(place)}, %n{16 * words} : !llvm.ptr<3>, i32")

    def write_expect(self, statement: Stmt) -> None:
        *place, words = statement.numbers
        self.emit(f"nvvm.mbarrier.expect_tx {self.barrier(place)}, %n{16 * words} : !llvm.ptr<3>, i32")

    def write_wait_phase(self, statement: Stmt) -> None:
        *place, parity, depth = statement.numbers
        barrier = self.barrier(place)
        value = f"%n{parity}"
        if depth and self.iteration is not None:
            turn = self.value(f"arith.divui {self.iteration}, %c{depth} : index")
            moved = self.value(f"arith.addi {turn}, %c{parity} : index")
            odd = self.value(f"arith.remui {moved}, %c2 : index")
            value = self.value(f"arith.index_cast {odd} : index to i32")
        self.emit(f"nvvm.mbarrier.try_wait.parity {barrier}, {value}, %ticks : !llvm.ptr<3>, i32, i32")

    def write_bulk(self, statement: Stmt) -> None:
        target, source, barrier, words = (
            statement.numbers[:3],
            statement.numbers[3],
            statement.numbers[4:7],
            max(1, statement.numbers[7]),
        )
        into = self.pointer("%l", target, 3, WORD)
        self.emit("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}")
        out_of = self.pointer("%g", at(source), 1, WORD)
        self.emit(
            f"nvvm.cp.async.bulk.shared.cluster.global {into}, {out_of}, {self.barrier(barrier)}, %n{16 * words} "
            ": !llvm.ptr<3>, <1>"
        )

    def write_cp(self, statement: Stmt) -> None:
        *target, source = statement.numbers
        into, out_of = self.pointer("%l", target, 3, WORD), self.pointer("%g", at(source), 1, WORD)
        self.emit(f"nvvm.cp.async.shared.global {into}, {out_of}, 4, cache =  ca : !llvm.ptr<3>, !llvm.ptr<1>")

    def write_arrive_behind(self, statement: Stmt) -> None:
        *place, is_counted = statement.numbers
        noinc = " {noinc = true}" if is_counted else ""
        self.emit(f"nvvm.cp.async.mbarrier.arrive {self.barrier(place)}{noinc} : !llvm.ptr<3>")


WORD = "!llvm.array<4 x i32>"
"""What a place holds, of which loads and stores touch the first element: bulk copies move 16 bytes and multiples."""
TILE = "tensor<8xf32>"
TYPES = {"token": "!async.token", "value": "!async.value<i32>"}
POINTERS = (("%l", 3), ("%g", 1))
POINTER_ARGUMENTS = "%l: !llvm.ptr<3>, %g: !llvm.ptr<1>, %bar: !llvm.ptr<3>"
MEMREF_ARGUMENTS = f"%a: memref<{CELLS}xi32>, %b: memref<{CELLS}xi32>"
CONSTANTS = {
    **{f"%c{n}": f"arith.constant {n} : index" for n in range(8)},
    **{f"%n{n}": f"arith.constant {n} : i32" for n in (*range(13), *range(16, 65, 16))},
    "%ticks": "arith.constant 1000000 : i32",
}
