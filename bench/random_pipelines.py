"""
Which of the random pipelines in nests (`tests/checker/random_pipelines.py`) are proved for every trip count, and why
the others are not: a line for each of these, and how many there are. A proof has 120 s of processor time.

    python -m bench.random_pipelines --from 0 --to 300
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from time import process_time

from tests.checker.random_pipelines import pipeline, written
from tests.support.ir import parse
from tileas_xdsl.checker.verdict.checking import check

SECONDS = 120
"""Of processor time that a check may take."""


def reasons_against(seeds: range) -> Iterator[tuple[int, str]]:
    """The programs that are not proved, by their numbers, and why. What is reported of a right program is one, too."""
    for seed in seeds:
        report = check(parse(written(pipeline(seed))), timeout=SECONDS)
        if report.findings or not report.is_proved:
            yield seed, "; ".join(report.bounded) or report.verdict_line


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first program")
    parser.add_argument("--to", dest="end", type=int, default=300, help="the one behind the last program")
    asked = parser.parse_args()
    seeds, found, start = range(asked.first, asked.end), 0, process_time()
    for seed, reason in reasons_against(seeds):
        found += 1
        print(f"{seed}: {pipeline(seed)}: {reason}", flush=True)
    print(f"{len(seeds) - found} of {len(seeds)} proved, {process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
