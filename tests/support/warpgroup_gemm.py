"""
A GEMM of 64 x 64 tiles for sm_90a as a person writes it at the level of `nvvm`: one warp produces by TMA, one warpgroup
multiplies by `wgmma`.

C (f32) = A (f16, M x K) * B (f16, K x N), a tile of C for each block. The ring has `stages` slots of a tile of A and
one of B, both of 64 x 64 and swizzled by 128 bytes; each slot has a full and an empty barrier. Rows of A are contiguous
along K, those of B along N: B is read the other way round. What sticks out of the arrays is zero, and not written.
"""

# ruff: noqa: E501 (lines of IR stand as they are)

from __future__ import annotations

TILE = 64
TILE_BYTES = TILE * TILE * 2
RESULT_BYTES = TILE * TILE * 4
REGISTERS = 32
"""Of the accumulator, in each thread."""
DESCRIPTOR = 1 << 62 | 1024 >> 4 << 32 | 1 << 16
"""Of both tiles, without the address: a swizzle of 128 bytes, eight rows of which take 1,024."""
STRUCT = f"!llvm.struct<({', '.join(['f32'] * REGISTERS)})>"
PRODUCT = "<m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>]"


def argument(name: str, element: str, swizzle: int) -> str:
    """A tensor map of a matrix, of which boxes are tiles."""
    box = f"box = array<i64: {TILE}, {TILE}>, swizzle = {swizzle} : i64"
    return f"%{name}: !llvm.ptr {{tileas.tensor_map = {{array = memref<?x?x{element}>, {box}}}}}"


def shared_bytes(stages: int) -> int:
    """The rings, the tile of C, and a full and an empty barrier for each slot."""
    return 2 * stages * TILE_BYTES + RESULT_BYTES + 16 * stages


def warpgroup_gemm(stages: int = 2, *, blocks: bool = False) -> str:
    """
    The kernel `gemm`: tensor maps of A, B and C, and how many tiles there are along K. With `blocks` each block of a
    grid computes its tile of C, else there is one.
    """
    row, column = (
        ("nvvm.read.ptx.sreg.ctaid.y : i32", "nvvm.read.ptx.sreg.ctaid.x : i32")
        if blocks
        else ("arith.constant 0 : i32",) * 2
    )
    b, c = stages * TILE_BYTES, 2 * stages * TILE_BYTES
    full = c + RESULT_BYTES
    barriers = "\n".join(_barrier(slot, full, stages) for slot in range(stages))
    return f"""
llvm.mlir.global external @shared() {{addr_space = 3 : i32, alignment = 1024 : i64}} : !llvm.array<0 x i8>
func.func @gemm({argument("a", "f16", 128)},
                {argument("b", "f16", 128)},
                {argument("c", "f32", 0)},
                %tiles: i32) attributes {{nvvm.reqntid = array<i32: 160>, tileas.shared_bytes = {shared_bytes(stages)} : i64}} {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %c31 = arith.constant 31 : i32
  %tile = arith.constant {TILE} : i32
  %consumers = arith.constant 128 : i32
  %stages = arith.constant {stages} : i32
  %tile_bytes = arith.constant {TILE_BYTES} : i32
  %stage_bytes = arith.constant {2 * TILE_BYTES} : i32
  %ticks = arith.constant 10000000 : i32
  %thread = nvvm.read.ptx.sreg.tid.x : i32
  %warp = arith.shrui %thread, %c5 : i32
  %lane = arith.andi %thread, %c31 : i32
  %block_x = {column}
  %block_y = {row}
  %row = arith.muli %block_y, %tile : i32
  %column = arith.muli %block_x, %tile : i32
  %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
  %ring_b = llvm.getelementptr %shared[{b}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %result = llvm.getelementptr %shared[{c}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %full = llvm.getelementptr %shared[{full}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %empty = llvm.getelementptr %shared[{full + 8 * stages}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %is_first = arith.cmpi eq, %thread, %c0 : i32
  scf.if %is_first {{
{barriers}
    nvvm.fence.mbarrier.init
  }}
  nvvm.barrier0
  %produces = arith.cmpi eq, %warp, %c4 : i32
  scf.if %produces {{
    %elected = nvvm.elect.sync -> i1
    scf.if %elected {{
      %slot_end, %parity_end = scf.for %k = %c0 to %tiles step %c1 iter_args(%slot = %c0, %parity = %c1) -> (i32, i32) : i32 {{
        %is_full = llvm.getelementptr %full[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        %is_empty = llvm.getelementptr %empty[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
        nvvm.mbarrier.try_wait.parity %is_empty, %parity, %ticks : !llvm.ptr<3>, i32, i32
        nvvm.mbarrier.arrive.expect_tx %is_full, %stage_bytes : !llvm.ptr<3>, i32
        %distance = arith.muli %slot, %tile_bytes : i32
        %slot_a = llvm.getelementptr %shared[%distance] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        %slot_b = llvm.getelementptr %ring_b[%distance] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
        %to_a = llvm.addrspacecast %slot_a : !llvm.ptr<3> to !llvm.ptr<7>
        %to_b = llvm.addrspacecast %slot_b : !llvm.ptr<3> to !llvm.ptr<7>
        %depth = arith.muli %k, %tile : i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %to_a, %a, %is_full, box[%depth, %row] : !llvm.ptr<7>, !llvm.ptr
        nvvm.cp.async.bulk.tensor.shared.cluster.global %to_b, %b, %is_full, box[%column, %depth] : !llvm.ptr<7>, !llvm.ptr
{_next_slot()}
        scf.yield %slot_next, %parity_next : i32, i32
      }}
    }}
  }} else {{
    %zero = llvm.mlir.zero : {STRUCT}
    %low_bits = arith.constant 262143 : i64
    %four = arith.constant 4 : i64
    %form = arith.constant {DESCRIPTOR} : i64
    %sum, %slot_end, %parity_end = scf.for %k = %c0 to %tiles step %c1 iter_args(%acc0 = %zero, %slot = %c0, %parity = %c0) -> ({STRUCT}, i32, i32) : i32 {{
      %is_full = llvm.getelementptr %full[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      %is_empty = llvm.getelementptr %empty[%slot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
      nvvm.mbarrier.try_wait.parity %is_full, %parity, %ticks : !llvm.ptr<3>, i32, i32
      %distance = arith.muli %slot, %tile_bytes : i32
{_descriptor("a", "%shared")}
{_descriptor("b", "%ring_b")}
      nvvm.wgmma.fence.aligned
{_products()}
      nvvm.wgmma.commit.group.sync.aligned
      nvvm.wgmma.wait.group.sync.aligned 0
      nvvm.mbarrier.arrive %is_empty : !llvm.ptr<3>
{_next_slot()}
      scf.yield %acc4, %slot_next, %parity_next : {STRUCT}, i32, i32
    }}
    %warp_row = arith.shli %warp, %c4 : i32
    %lane_row = arith.shrui %lane, %c2 : i32
    %own_row = arith.addi %warp_row, %lane_row : i32
    %lane_pair = arith.andi %lane, %c3 : i32
    %own_column = arith.shli %lane_pair, %c1 : i32
    %row_start = arith.muli %own_row, %tile : i32
    %own = arith.addi %row_start, %own_column : i32
    %corner = llvm.getelementptr %result[%own] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
{_stores()}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    nvvm.barrier id = %c1 number_of_threads = %consumers
    scf.if %is_first {{
      nvvm.cp.async.bulk.tensor.global.shared.cta %c, %result, box[%column, %row] : !llvm.ptr, !llvm.ptr<3>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0 {{read}}
    }}
  }}
  func.return
}}"""


def _barrier(slot: int, full: int, stages: int) -> str:
    places = {"full": full + 8 * slot, "empty": full + 8 * (stages + slot)}
    counts = {"full": "%c1", "empty": "%consumers"}
    lines: list[str] = []
    for name, place in places.items():
        lines += [
            f"    %{name}{slot} = llvm.getelementptr %shared[{place}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8",
            f"    nvvm.mbarrier.init %{name}{slot}, {counts[name]} : !llvm.ptr<3>, i32",
        ]
    return "\n".join(lines)


def _next_slot() -> str:
    return """      %after = arith.addi %slot, %c1 : i32
      %wraps = arith.cmpi eq, %after, %stages : i32
      %slot_next = arith.select %wraps, %c0, %after : i32
      %turned = arith.xori %parity, %c1 : i32
      %parity_next = arith.select %wraps, %turned, %parity : i32"""


def _descriptor(name: str, ring: str) -> str:
    return f"""      %at_{name} = llvm.getelementptr {ring}[%distance] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %address_{name} = llvm.ptrtoint %at_{name} : !llvm.ptr<3> to i64
      %within_{name} = arith.andi %address_{name}, %low_bits : i64
      %units_{name} = arith.shrui %within_{name}, %four : i64
      %{name}0 = arith.ori %units_{name}, %form : i64"""


def _products() -> str:
    """Four steps of 16 along K: 32 bytes further in the rows of A, 16 rows further in B."""
    lines: list[str] = []
    for step in range(4):
        for name, bytes_on in (("a", 32 * step), ("b", 16 * 128 * step)):
            if step:
                lines.append(f"%step_{name}{step} = arith.constant {bytes_on >> 4} : i64")
                lines.append(f"%{name}{step} = arith.addi %{name}0, %step_{name}{step} : i64")
        registers = f"{STRUCT} -> {STRUCT}"
        lines.append(f"%acc{step + 1} = nvvm.wgmma.mma_async %a{step}, %b{step}, %acc{step}, {PRODUCT} : {registers}")
    return "\n".join(f"      {line}" for line in lines)


def _stores() -> str:
    """Each register to its place in the tile of C (PTX ISA, "Register Fragments for wgmma.mma_async": D)."""
    lines: list[str] = []
    for number in range(REGISTERS):
        distance = 8 * TILE * (number // 2 % 2) + 8 * (number // 4) + number % 2
        lines += [
            f"%x{number} = llvm.extractvalue %sum[{number}] : {STRUCT}",
            f"%p{number} = llvm.getelementptr %corner[{distance}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32",
            f"llvm.store %x{number}, %p{number} : f32, !llvm.ptr<3>",
        ]
    return "\n".join(f"    {line}" for line in lines)
