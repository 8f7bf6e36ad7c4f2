"""
What Triton puts in below TTGIR: `python -m tests.triton.below FOLDER FILE..` writes two texts of the module in
each FILE, to a folder of its name.

`fenced.ttgir` is the module with memory laid out and proxy fences put in; `lowered.mlir` is the module in LLVM's
dialect, in which each op that synchronises is an instruction of PTX. They are read by `test_below.py`, to hold against
Triton what the checker takes for granted of it. In a process of its own: Triton's library keeps settings for the whole.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, cast

PTX_VERSION = 88


def lower(source: Path, folder: Path) -> None:
    """Write both texts of the module in `source`."""
    from triton._C import libtriton

    from tileas_xdsl.triton.compiling import target_named

    library = cast("Any", libtriton)
    match = re.search(r'ttg\.target = "cuda:(\d+)"', source.read_text())
    assert match is not None, f"{source} is not for a GPU of NVIDIA"
    arch = int(match[1])
    from triton.compiler import make_backend

    backend: Any = make_backend(target_named(f"sm_{arch}"))
    context = library.ir.context()
    library.ir.load_dialects(context)
    backend.load_dialects(context)
    module = library.ir.parse_mlir_module(str(source), context)

    passes, nvidia = library.passes, library.nvidia.passes
    manager = library.ir.pass_manager(context)
    passes.ttgpuir.add_combine_tensor_select_and_if(manager)
    passes.ttgpuir.add_allocate_warp_groups(manager, False)
    passes.gluon.add_inliner(manager)
    nvidia.ttgpuir.add_allocate_shared_memory_nv(manager, arch, PTX_VERSION)
    nvidia.ttnvgpuir.add_allocate_tensor_memory(manager)
    nvidia.ttnvgpuir.add_proxy_fence_insertion(manager, arch)
    manager.run(module, "fences")
    folder.joinpath("fenced.ttgir").write_text(str(module))

    manager = library.ir.pass_manager(context)
    passes.convert.add_scf_to_cf(manager)
    nvidia.ttgpuir.add_membar(manager, arch, PTX_VERSION)
    nvidia.ttnvgpuir.add_tmem_wait_insertion(manager)
    nvidia.ttnvgpuir.add_cluster_barrier_mbar_allocator(manager)
    passes.ttgpuir.add_allocate_global_scratch_memory(manager)
    nvidia.ttgpuir.add_to_llvmir(manager, arch, PTX_VERSION)
    nvidia.ttnvgpuir.add_warp_specialize_to_llvm(manager)
    nvidia.ttnvgpuir.add_nvgpu_to_llvm(manager)
    manager.run(module, "lowered")
    folder.joinpath("lowered.mlir").write_text(str(module))


if __name__ == "__main__":
    for name in sys.argv[2:]:
        into = Path(sys.argv[1]) / Path(name).stem
        into.mkdir(parents=True, exist_ok=True)
        lower(Path(name), into)
