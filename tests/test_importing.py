"""`import numpy` may become `import lazyfuse` in import statements of modules, too."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as host
import pytest

import lazyfuse as lf

MODULES = (
    "char", "ctypeslib", "dtypes", "exceptions", "fft", "lib", "lib.array_utils",
    "lib.format", "lib.recfunctions", "lib.scimath", "lib.stride_tricks", "linalg", "ma",
    "ma.extras", "polynomial", "polynomial.chebyshev", "random", "random.mtrand", "rec",
    "strings", "testing", "typing", "version",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    """What is imported is the attribute, and has all public names of NumPy's."""
    module = importlib.import_module(f"lazyfuse.{name}")
    attribute = lf
    for part in name.split("."):
        attribute = getattr(attribute, part)
    assert module is attribute
    numpys = importlib.import_module(f"numpy.{name}")
    for public in getattr(numpys, "__all__", ()):
        assert hasattr(module, public)


def test_nothing_is_loaded_twice() -> None:
    """Also where the import is the first thing that happens, and NumPy's modules stay its own."""
    program = (
        "import lazyfuse.ma.core as core, numpy.ma\n"
        "from lazyfuse.lib.stride_tricks import sliding_window_view\n"
        "from lazyfuse.polynomial import Polynomial\n"
        "import lazyfuse, numpy\n"
        "assert core is numpy.ma.core and numpy.ma.__spec__.name == 'numpy.ma'\n"
        "assert Polynomial is numpy.polynomial.Polynomial\n"
        "print(type(sliding_window_view(lazyfuse.arange(5), 2)).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "LazyArray\n", done.stderr
    assert host.ma.__name__ == "numpy.ma"


@pytest.mark.parametrize("name", ["nothing", "ma.nothing", "lib.nothing", "core.nothing"])
def test_what_is_not_there(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"lazyfuse.{name}")
