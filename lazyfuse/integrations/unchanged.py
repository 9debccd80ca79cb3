"""Programs as they are: where they import NumPy, they get lazyfuse.

`python -m lazyfuse program.py` runs a program whose own modules have lazyfuse under NumPy's name.
Libraries keep NumPy: what lies in a folder that Python is installed in, or packages are. So does
what Python has no file of, but for the program itself, and who asks for a module by its name
(`importlib.import_module("numpy")`). Modules and names that only NumPy has are NumPy's.
"""

from __future__ import annotations

import builtins
import os
import pkgutil
import runpy
import site
import sys
import sysconfig
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

_NUMPY, _OURS = "numpy", __name__.partition(".")[0]
_import = builtins.__import__


def install() -> None:
    """Have the program's own modules import lazyfuse for NumPy, from now on."""
    vars(sys.modules[_OURS])["__version__"] = np.__version__  # which programs look at
    builtins.__import__ = _imported


def run(arguments: Sequence[str]) -> None:
    """Run a program as Python does: a file, a folder or an archive with a `__main__.py`,
    `-m module` or `-c text`, and what stands behind it.
    Raises: what the program does; SystemExit."""
    first, *rest = arguments
    if first not in ("-m", "-c") and pkgutil.get_importer(first) is not None:
        sys.argv = [first, *rest]
        runpy.run_path(first, run_name="__main__")
        return
    main = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    sys.modules["__main__"] = main  # for good, as long as something of the program lives
    if first == "-m":
        sys.argv = rest
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]  # what `python -m` calls
        return
    if first == "-c":
        sys.argv, folder = ["-c", *rest[1:]], ""
        text: Any = rest[0]
        name = "<string>"
    else:
        sys.argv, folder = [first, *rest], os.path.dirname(os.path.realpath(first))
        text = _text(first)
        name = main.__file__ = os.path.abspath(first)
    if not sys.flags.safe_path:
        sys.path[0] = folder  # in the place of the current one
    exec(compile(text, name, "exec", dont_inherit=True), vars(main))


def _text(path: str) -> bytes:
    """A file, of whose encoding `compile` knows. Raises: SystemExit, as Python, if it cannot be
    read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        print(f"{sys.executable}: can't open file {path!r}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def _imported(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """What an import statement gives."""
    given = fromlist or ()
    if level or name.partition(".")[0] != _NUMPY or not _is_own(name, globals or {}):
        return _import(name, globals, locals, given, level)
    try:
        found = _import(_OURS + name.removeprefix(_NUMPY), globals, locals, given)
    except ModuleNotFoundError:  # we have no such module
        theirs = _import(name, globals, locals, given)
        return theirs if given else _import(_OURS)
    is_whole = all(item == "*" or hasattr(found, item) for item in given)
    return found if is_whole else _import(name, globals, locals, given)


# warnings look past such frames for who imports
_imported.__code__ = _imported.__code__.replace(co_filename="<lazyfuse importlib._bootstrap>")


def _is_own(name: str, module: Mapping[str, Any]) -> bool:
    """Whether a module of the program's own asks for a public module of NumPy's."""
    if name.startswith(f"{_NUMPY}._"):
        return False
    file = module.get("__file__")
    return module.get("__name__") == "__main__" if file is None else not _is_librarys(file)


@cache
def _is_librarys(file: str) -> bool:
    """Whether a file lies where packages are, by its own name or where a link leads."""
    paths = os.path.abspath(file), os.path.realpath(file)
    return any(
        path.startswith(_folders()) or not _PACKAGES.isdisjoint(path.split(os.sep))
        for path in paths
    )


#: Folders of packages, of whatever installation.
_PACKAGES = frozenset(("site-packages", "dist-packages"))


@cache
def _folders() -> tuple[str, ...]:
    """Where Python and packages are installed, and this package is."""
    paths = sysconfig.get_paths()
    found = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    found += [*site.getsitepackages(), site.getusersitepackages()]
    found.append(os.path.dirname(os.path.dirname(__file__)))
    return tuple([os.path.join(os.path.realpath(folder), "") for folder in found])
