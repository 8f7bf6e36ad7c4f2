"""
Right programs over the blocks of a cluster, in `cluster_programs/`, and for each of them a twin with one mistake.

A twin is the right program with one edit: a piece of its text, and what stands in its place.
"""

from __future__ import annotations

from pathlib import Path

PROGRAMS = Path(__file__).parent / "cluster_programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.mlir"))
SYNC = "  nvvm.cluster.arrive {aligned}\n  nvvm.cluster.wait {aligned}\n"
FENCE = "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n"
WIDE = SYNC.replace("  nvvm", "    nvvm")
STORE = "      llvm.store %one, %there : f32, !llvm.ptr<7>\n"
TELL = """      scf.if %elected {
        nvvm.mbarrier.arrive %ready {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
      }
"""

TWINS: dict[str, tuple[str, str, str]] = {
    "exchange": ("race", f"f32\n{WIDE}  }}", "f32\n  }"),
    "gather": ("absent", f"  }}\n{SYNC}", "  }\n"),
    "halves": ("race", f"{WIDE}  }}", "  }"),
    "ring": ("race", "init %empty, %c2", "init %empty, %c1"),
    "handover": ("race", f"{STORE}{TELL}", f"{TELL}{STORE}"),
    "push": ("missing-fence", f"%stage : f32, !llvm.ptr<3>\n      {FENCE}", "%stage : f32, !llvm.ptr<3>\n"),
    "baton": ("deadlock", "select %is_first, %c1, %c0", "select %is_first, %c0, %c0"),
    "halo": ("race", "arith.andi %k, %c1 : i32\n    %there", "arith.andi %k, %c0 : i32\n    %there"),
    "broadcast": ("race", "{scope = #nvvm.mem_scope<cluster>}", "{relaxed = true, scope = #nvvm.mem_scope<cluster>}"),
    "published": ("race", "    nvvm.fence.mbarrier.init\n  }\n", "  }\n"),
}
"""Name -> a kind of mistake in the twin, what is taken out of the right program, and what is put in."""


def right(name: str) -> str:
    """The text of the right program called `name`."""
    return (PROGRAMS / f"{name}.mlir").read_text()


def wrong(name: str) -> str:
    """The text of its twin."""
    _, taken, put = TWINS[name]
    text = right(name)
    assert text.count(taken) == 1, name
    return text.replace(taken, put)
