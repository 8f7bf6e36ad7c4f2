"""
`tileas` and `xdsl-opt` that begin with all modules imported, for scripts that call them many times.

A server imports what the commands import, once, and forks a child for each call. The child has the arguments, the
folder, the environment and the open files of its caller, runs the command's own script, and ends as a process does: so
pipes, redirections and statuses are the shell's, and no call leaves anything behind for the next. What this does not
show is that a command finds its modules by itself; `tests/filecheck` and `tests/test_fresh_environment.py` start each
from nothing.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from select import select

COMMANDS = ("tileas", "xdsl-opt")
SCRIPTS = Path(sys.executable).parent
ADDRESS = "server"
READY = "ready\n"

CLIENT = f"""#!{sys.executable} -ISE
import json, os, socket, sys

here, command = os.path.split(os.path.abspath(sys.argv[0]))
script = os.path.join({str(SCRIPTS)!r}, command)
for number in range(3):
    os.fstat(number)  # an error where the shell has closed it (`>&-`), which cannot be handed on
for name in os.environ:
    if name.startswith("PYTHON") and name not in {sorted(name for name in os.environ if name.startswith("PYTHON"))!r}:
        os.execv(script, [script, *sys.argv[1:]])  # the server was started without it
call = json.dumps([script, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
os.chdir(here)
with socket.socket(socket.AF_UNIX) as server:
    server.connect({ADDRESS!r})
    socket.send_fds(server, [b"%12d" % len(call)], [0, 1, 2])
    server.sendall(call)
    sys.exit(int(server.recv(8) or b"70"))
"""
"""A script for each of the commands. It takes some hundredths of a second."""


@contextmanager
def warm_commands(folder: Path) -> Generator[Path]:
    """A folder for the front of `PATH`, made in `folder`. Its commands work as long as the context lasts."""
    for command in COMMANDS:
        (folder / command).write_text(CLIENT)
        (folder / command).chmod(0o755)
    # By a relative name, since the address of a socket has some hundred characters at most.
    server = [sys.executable, __file__, ADDRESS]
    pipe = subprocess.PIPE
    # It ends when its input does, so that it does not outlive a test that is killed.
    with subprocess.Popen(server, cwd=folder, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin:
            assert process.stdout.readline() == READY, "the server of commands did not start"
            yield folder


# The server -----------------------------------------------------------------------------------------------------------


def serve(address: str) -> str:
    """Listen at `address` until the input ends. Returns in each child that is to be a command: the script to run."""
    sys.path[0] = str(SCRIPTS)
    import_everything()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    print(READY, end="", flush=True)
    while sys.stdin not in select([listener, sys.stdin], [], [])[0]:
        caller, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            return answered(caller)
        caller.close()
        reap()
    sys.exit()


def import_everything() -> None:
    """All modules that a command could need, but for those of optional packages."""
    import_module("xdsl.tools.xdsl_opt")
    for module in walk_packages(import_module("tileas_xdsl").__path__, "tileas_xdsl."):
        if not module.name.startswith(("tileas_xdsl.course.", "tileas_xdsl.triton")):
            import_module(module.name)


def reap() -> None:
    """Forget the children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def answered(caller: socket.socket) -> str:
    """
    Read what the `caller` wants, and tell it the status in the end. Returns in a process that has the caller's folder,
    environment, arguments and open files: the script to run.
    """
    length, files, _, _ = socket.recv_fds(caller, 12, 3)
    with caller.makefile("rb") as stream:
        script, arguments, folder, environment = json.loads(stream.read(int(length)))
    child = os.fork()
    if child != 0:
        for file in files:
            os.close(file)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        caller.sendall(b"%d" % (status if status >= 0 else 128 - status))
        os._exit(0)
    caller.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script, *arguments]
    return script


if __name__ == "__main__":
    runpy.run_path(serve(sys.argv[1]), run_name="__main__")
