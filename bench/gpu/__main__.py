"""
Make a folder with which a machine that has a GPU, Python, numpy, ml_dtypes, cuda-bindings and torch measures all:

    python -m bench.gpu [FOLDER]         (default: build/bench-gpu)

    numbers/    what `bench.gpu.pack` writes: every variant of the kernels of the tests, with the numbers expected
    speed.json, code/, triton_kernels.py    the programs whose time is taken, and those of Triton beside them
    site/       this package, xDSL and what they need, for the launches
    run.py      does all of it: `python FOLDER/run.py OUT`, at most 5 minutes

No GPU is needed to make it. Code that is there stays.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from bench.gpu import pack, speed_programs

HERE = Path(__file__).parent
STAND_ALONE = ("run.py", "speed.py", "triton_kernels.py")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Make the folder for a machine with a GPU.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/bench-gpu"))
    parser.add_argument("--without-numbers", action="store_true", help="only what times are taken of")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in STAND_ALONE:
        shutil.copy(HERE / name, folder / name)
    pack.copy_packages(folder / "site")
    for line in speed_programs.written(folder):
        print(line, flush=True)
    if not options.without_numbers:
        for line in pack.pack(folder / "numbers", []):
            print(line, flush=True)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
