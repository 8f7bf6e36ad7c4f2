"""Execute a file of a user's: what it prints is left out, and an error of its own is noted and ends it."""

from __future__ import annotations

import io
import linecache
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from tileas_xdsl.tools.errors import InputError


@contextmanager
def quietly() -> Generator[None]:
    """What a file prints is not about the check."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


@contextmanager
def saying(file: str, text: str | None) -> Generator[None]:
    """Inside, the source of a function of `file` is taken from `text`, if there is one, and not from the file."""
    if text is None:
        yield
        return
    before = linecache.cache.get(file)
    # An entry without a time is not compared with the file.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        yield
    finally:
        linecache.cache.pop(file, None)
        if before is not None:
            linecache.cache[file] = before


def execute(file: str, name: str, notes: list[str], text: str | None = None) -> dict[str, Any]:
    """
    The names that the file leaves, or leaves when `text` stands in it. An error of its own is noted. It may belong to
    a package.
    """
    source = Path(file).read_bytes() if text is None else text
    root, package = _package_of(Path(file).resolve())
    module = ModuleType(name)
    module.__file__ = file
    module.__package__ = package
    main, own_path, own_arguments, modules = sys.modules.get(name), list(sys.path), sys.argv, set(sys.modules)
    sys.modules[name] = module
    sys.path.insert(0, str(root))
    sys.argv = [file]
    try:
        code = compile(source, file, "exec", dont_inherit=True)
        run_noting(lambda: exec(code, module.__dict__), file, notes)
    except SyntaxError as error:
        raise InputError([f"{file}:{error.lineno or 1}:{error.offset or 1}: error: {error.msg}"]) from None
    finally:
        sys.path[:], sys.argv = own_path, own_arguments
        if main is not None:
            sys.modules[name] = main
        for key in set(sys.modules) - modules:
            if _lies_below(sys.modules[key], root):
                del sys.modules[key]
    return module.__dict__


def _package_of(file: Path) -> tuple[Path, str]:
    """The folder from which a file's modules are found, and the package that it belongs to."""
    folder, names = file.parent, list[str]()
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _lies_below(module: ModuleType, root: Path) -> bool:
    """Whether a module was found by way of the file's folder: another file may have one of the same name."""
    own = getattr(module, "__file__", None)
    if own is None or Path(own).resolve().is_relative_to(Path(sys.prefix).resolve()):
        return False
    return Path(own).resolve().is_relative_to(root)


def run_noting(action: Callable[[], Any], file: str, notes: list[str]) -> None:
    """Do something of the user's; note an error of it, by the line of the file that led there."""
    try:
        action()
    except (SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt):
            raise
    except BaseException as error:
        if type(error).__name__ == "Skipped":
            return
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        said = str(error).splitlines()[0] if str(error) else ""
        place = f"{file}:{lines[-1]}" if lines else file
        notes.append(f"{place}: note: here the file ended with {type(error).__name__}{': ' if said else ''}{said}")
