"""Pieces of IR from which small asynchronous programs are written by hand."""

from __future__ import annotations


def constants(numbers: range, suffix: str, type_: str) -> str:
    return "\n".join(f"%{suffix}{n} = arith.constant {n} : {type_}" for n in numbers)


def on_memrefs(body: str) -> str:
    return f"""
      func.func @main(%a: memref<4xi32>, %b: memref<4xi32>) {{
        %v = arith.constant 7 : i32
        {constants(range(9), "c", "index")}
        {body}
        func.return
      }}"""


def on_pointers(body: str, others: str = "") -> str:
    return f"""
      {others}
      func.func @main(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>, %bar: !llvm.ptr<3>) {{
        %v = arith.constant 7 : i32
        %ticks = arith.constant 1000000 : i32
        {constants(range(9), "c", "index")}
        {constants(range(33), "n", "i32")}
        %l1 = llvm.getelementptr %l[4] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
        %l2 = llvm.getelementptr %l[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32
        %g1 = llvm.getelementptr %g[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
        %bar1 = llvm.getelementptr %bar[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
        {body}
        func.return
      }}"""


def agents(*bodies: str) -> str:
    sizes = ", ".join("1" for _ in bodies)
    regions = ", ".join("{" + body + "}" for body in bodies)
    return f"nv_tileaa.execute attributes {{num_agents_per_group = array<i32: {sizes}>}} {regions} : () -> ()"


def task(name: str, body: str, *dependencies: str) -> str:
    after = f"[{', '.join(dependencies)}] " if dependencies else ""
    return f"{name} = async.execute {after}{{ {body}\n async.yield }}"


def copy(source: str = "%g", target: str = "%l") -> str:
    return f"rocdl.global.load.async.lds {source}, {target}, 4, 0, 0 : !llvm.ptr<1>, !llvm.ptr<3>"


def bulk(size: int = 16, bar: str = "%bar", source: str = "%g", target: str = "%l") -> str:
    return f"nvvm.cp.async.bulk.shared.cluster.global {target}, {source}, {bar}, %n{size} : !llvm.ptr<3>, <1>"


def init(count: int, bar: str = "%bar") -> str:
    return f"nvvm.mbarrier.init {bar}, %n{count} : !llvm.ptr<3>, i32"


def wait(parity: int, bar: str = "%bar") -> str:
    return f"nvvm.mbarrier.try_wait.parity {bar}, %n{parity}, %ticks : !llvm.ptr<3>, i32, i32"


def arrive(bar: str = "%bar") -> str:
    return f"nvvm.mbarrier.arrive {bar} : !llvm.ptr<3>"


def expect(size: int = 16, bar: str = "%bar") -> str:
    return f"nvvm.mbarrier.arrive.expect_tx {bar}, %n{size} : !llvm.ptr<3>, i32"


def lines(*parts: str) -> str:
    return "\n".join(parts)


def wait_marks(count: int) -> str:
    return f"rocdl.wait.asyncmark {count}"
