"""
`tileas play FILE`: a page in the browser with the program, the passes and the target on the left, and on the right the
IR behind each pass, the verdict and the timeline, which follow what is typed.

    server.py     the page and its answers, on 127.0.0.1 alone
    answers.py    what becomes of a program, in a process of its own that may fail or take too long
    page.css, .js the page

The page asks nothing of a network. *Save as one page* writes what it shows as a file that needs no server. FILE itself
is only read. Ctrl-C ends the command, with status 0. Exit status 2: the file cannot be read, or the port is taken.
"""

from __future__ import annotations

import argparse

from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.inputs import read_text
from tileas_xdsl.tools.timeline import TRIP_COUNT, chosen_trip_count
from tileas_xdsl.tools.times import add_target, chosen_target

MOST_PORTS = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the program to begin with; - is standard input")
    parser.add_argument("-p", "--passes", metavar="PASSES", default="", help="the passes to begin with")
    add_target(parser)
    parser.add_argument(
        "--trip-count",
        type=int,
        default=TRIP_COUNT,
        metavar="N",
        help=f"trip count of loops in the timelines, at first (default: {TRIP_COUNT})",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="where to listen (default: a port that is free)"
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser of this machine")


def run(arguments: argparse.Namespace) -> int:
    from tileas_xdsl.tools.play.answers import Asked
    from tileas_xdsl.tools.play.server import serving

    if not 0 <= arguments.port <= MOST_PORTS:
        raise InputError([f"error: --port {arguments.port}: ports are 0 to {MOST_PORTS}"])
    target, trip_count = chosen_target(arguments), chosen_trip_count(arguments)
    name = "<stdin>" if arguments.file == "-" else arguments.file
    asked = Asked(read_text(arguments.file), arguments.passes, target, trip_count, name)
    with serving(asked, arguments.port) as server:
        try:
            print(f"{server.address} shows {name}; Ctrl-C ends it", flush=True)
            if arguments.open:
                import webbrowser

                webbrowser.open(server.address)
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
