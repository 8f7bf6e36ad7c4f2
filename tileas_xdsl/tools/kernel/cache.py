"""
`tileas cache [--clear]`: where compiled kernels are kept, how many and how large they are; or remove them.

Exit status 0. 2: a file cannot be removed.
"""

from __future__ import annotations

import argparse

from tileas_xdsl.kernels.cache import Cache, Contents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clear", action="store_true", help="remove all kernels that are kept")


def run(arguments: argparse.Namespace) -> int:
    cache = Cache.default()
    if arguments.clear:
        print(f"{cache.folder}: removed {_said(cache.clear())}")
    else:
        print(f"{cache.folder}: {_said(cache.contents())}; at most {cache.limit:,} bytes")
    return 0


def _said(contents: Contents) -> str:
    return f"{contents.files:,} program{'s' * (contents.files != 1)}, {contents.size:,} bytes"
