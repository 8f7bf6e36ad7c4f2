"""
`make mutate-threads`, or `python -m bench.mutate_threads`: drop each barrier and each fence that the passes insert into
the threads of the kernels of the tests, one at a time, and see whether a check notices.

Prints how many of each kind are needed, and every one that is not, with the reason why it stands there. Status 1 where
one has no reason. `--only NAME` takes kernels with NAME in their names, `--variant 'sm_90a unspecialize'` one variant.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from bench.mutation.orders import KERNELS, Dropped, Need, dropped
from tests.support.threads_and_tiles import VARIANTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mutate_threads", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="kernels with NAME in their names")
    parser.add_argument("--variant", choices=VARIANTS, help="one target and strategy")
    parser.add_argument("--verbose", action="store_true", help="print every barrier and fence")
    arguments = parser.parse_args()
    found: list[Dropped] = []
    for variant in VARIANTS if arguments.variant is None else [arguments.variant]:
        for kernel in (kernel for kernel in KERNELS if arguments.only in kernel):
            for each in dropped(kernel, variant):
                found.append(each)
                if arguments.verbose or each.need is not Need.NEEDED:
                    print(each, flush=True)
    print(table(found))
    return int(any(each.need is Need.REDUNDANT for each in found))


def table(found: list[Dropped]) -> str:
    """A line for each kind of op, and how many of each need there are."""
    counts = Counter((each.op, each.need) for each in found)
    lines = [f"{'':28}" + "".join(f"{need:>14}" for need in Need)]
    for op in dict.fromkeys(each.op for each in found):
        lines.append(f"{op:28}" + "".join(f"{counts[op, need]:>14}" for need in Need))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
