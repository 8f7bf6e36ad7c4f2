"""
Programs in nests: a producer and a consumer around a ring of mbarriers, tiles in the outer loop, k-steps in the inner.

`nest` writes the right program, and its arguments say what is to be different. Both `%n`, the tiles, and `%m`, the
k-steps, bound loops of both agents.
"""

from __future__ import annotations

from collections.abc import Mapping

HEAD = """
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c8 = arith.constant 8 : i32
  %c300 = arith.constant 300 : i32
  %c1024 = arith.constant 1024 : i32
  %c1028 = arith.constant 1028 : i32
  %bytes = arith.constant 1024 : i32
  %ticks = arith.constant 1000 : i32
  %one = arith.constant 1.0 : f32"""

PARTS: Mapping[str, str] = {
    "tiles": "%c0 to %n step %c1",
    "steps": "%c0 to %m step %c1",
    "consumer tiles": "%c0 to %n step %c1",
    "consumer steps": "%c0 to %m step %c1",
    "before": "",
    "consumer before": "",
    "first": "%k0",
    "consumer first": "%k0",
    "parity": "%turn",
    "consumer parity": "%bit",
    "wait": "nvvm.mbarrier.try_wait.parity %e, {parity}, %ticks : !llvm.ptr<3>, i32, i32",
    "copy": "nvvm.mbarrier.arrive.expect_tx %f, %bytes : !llvm.ptr<3>, i32\n"
    "nvvm.cp.async.bulk.shared.cluster.global %slot, %tile, %f, %bytes : !llvm.ptr<3>, <1>",
    "consumer wait": "nvvm.mbarrier.try_wait.parity %f, {consumer parity}, %ticks : !llvm.ptr<3>, i32, i32",
    "read": "%v = llvm.load %slot : !llvm.ptr<3> -> f32\n"
    "%o = llvm.getelementptr %out[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
    "llvm.store %v, %o : f32, !llvm.ptr<1>",
    "fence": "nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}",
    "release": "nvvm.mbarrier.arrive %e : !llvm.ptr<3>",
    "after tile": "",
    "consumer after tile": "",
    "after": "",
    "consumer after": "",
    "arguments": "",
    "head": "",
}


def nest(slots: int = 2, **changed: str) -> str:
    """The program with a ring of `slots`; `changed` has other parts than the right ones, `_` standing for blanks."""
    parts = {**PARTS, **{name.replace("_", " "): text for name, text in changed.items()}}
    parts = {name: text.replace("{parity}", parts["parity"]) for name, text in parts.items()}
    parts = {name: text.replace("{consumer parity}", parts["consumer parity"]) for name, text in parts.items()}
    parts = {name: text.replace("{{", "{").replace("}}", "}") for name, text in parts.items()}
    place = """
      %s = arith.remui %k, %slots : i32
      %r = arith.divui %k, %slots : i32
      %bit = arith.andi %r, %c1 : i32
      %turn = arith.xori %bit, %c1 : i32
      %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %slot = llvm.getelementptr %ring[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, !llvm.array<256 x f32>
      %tile = llvm.getelementptr %src[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<256 x f32>"""

    def agent(prefix: str, work: str) -> str:
        return f"""
    {parts[prefix + "before"]}
    %e0 = scf.for %t = {parts[prefix + "tiles"]} iter_args(%k0 = %c0) -> (i32) : i32 {{
      %k1 = scf.for %j = {parts[prefix + "steps"]} iter_args(%k = {parts[prefix + "first"]}) -> (i32) : i32 {{{place}
      {work}
        %kn = arith.addi %k, %c1 : i32
        scf.yield %kn : i32
      }}
      {parts[prefix + "after tile"]}
      scf.yield %k1 : i32
    }}
    {parts[prefix + "after"]}"""

    producer = agent("", f"{parts['wait']}\n{parts['copy']}")
    read = [parts[name] for name in ("consumer wait", "read", "fence", "release")]
    consumer = agent("consumer ", "\n".join(read))
    pointers = ", ".join(f"%{name}: !llvm.ptr<{3 if name in ('ring', 'full', 'empty') else 1}>" for name in POINTERS)
    return f"""
func.func @k({pointers}{parts["arguments"]}, %n: i32, %m: i32) {{{HEAD}
  %slots = arith.constant {slots} : i32
  {parts["head"]}
  scf.for %s = %c0 to %slots step %c1 : i32 {{
    %f = llvm.getelementptr %full[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %e = llvm.getelementptr %empty[%s] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %f, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %e, %c1 : !llvm.ptr<3>, i32
  }}
  nvvm.fence.mbarrier.init
  nv_tileaa.execute attributes {{num_agents_per_group = array<i32: 1, 1>}} {{{producer}
  }}, {{{consumer}
  }} : () -> ()
  func.return
}}"""


POINTERS = ("src", "out", "ring", "full", "empty")
