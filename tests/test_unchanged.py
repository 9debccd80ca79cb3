"""`python -m lazyfuse program.py`: programs as they are, in processes of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.oracle import IS_ENGINE

if not IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no such command", allow_module_level=True)

ROOT = Path(__file__).resolve().parent.parent


def run(
    folder: Path, *arguments: str, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, in which there is nothing of ours."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, "-m", "lazyfuse", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(dedent(text))


PROGRAM = """
    import sys
    import numpy
    import numpy as np, numpy.linalg as la
    import numpy.fft
    from numpy import sin, linalg
    from numpy.lib.stride_tricks import sliding_window_view
    from numpy import *
    import helper

    assert numpy is np and np.__name__ == "lazyfuse" and la is linalg is np.linalg
    assert la.__name__ == "lazyfuse.linalg" and numpy.fft.__name__ == "lazyfuse.fft"
    for array in (np.ones(3), sin(ones(3)), sliding_window_view(np.ones(5), 2), helper.half(1)):
        assert type(array).__module__.startswith("lazyfuse"), type(array)
    assert type(helper.inner()).__module__.startswith("lazyfuse")

    class Kept: pass
    import pickle
    assert type(pickle.loads(pickle.dumps(Kept()))) is Kept and __name__ == "__main__"
    assert sys.modules["__main__"].Kept is Kept
    import numpy.matrixlib.defmatrix as defmatrix, numpy.matrixlib.defmatrix
    from numpy.linalg import lapack_lite
    from numpy.matrixlib import matrix
    from numpy._core import multiarray
    assert numpy is np and defmatrix.matrix is matrix and "lazyfuse._core" not in sys.modules
    assert np.__version__ == sys.modules["numpy"].__version__ and __builtins__.len is len

    def annotated(x: int): pass
    assert annotated.__annotations__ == {"x": int}
    print(sys.argv, __file__)
"""
HELPER = """
    import numpy as np

    def half(x):
        return np.full(3, x) / 2

    def inner():
        import numpy
        from numpy.random import default_rng
        return default_rng(0).random(3) + numpy.zeros(3)
"""


def test_a_file_and_its_modules(tmp_path: Path) -> None:
    write(tmp_path / "programs" / "program.py", PROGRAM)
    write(tmp_path / "programs" / "helper.py", HELPER)
    path = os.path.join("programs", "program.py")
    full = tmp_path / path
    assert run(tmp_path, path, "-m", "x").stdout.strip() == f"{[path, '-m', 'x']} {full}"


def test_a_module(tmp_path: Path) -> None:
    write(tmp_path / "program.py", PROGRAM)
    write(tmp_path / "helper.py", HELPER)
    found = run(tmp_path, "-m", "program", "x").stdout.strip()
    path = str((tmp_path / "program.py").resolve())
    assert found == f"{[path, 'x']} {path}"


def test_a_folder_and_an_archive(tmp_path: Path) -> None:
    write(tmp_path / "program" / "__main__.py", "import numpy, beside; beside.tell(numpy)")
    write(tmp_path / "program" / "beside.py", "def tell(np): print(np.__name__, __name__)")
    shutil.make_archive(str(tmp_path / "program"), "zip", tmp_path / "program")
    for path in ("program", "program.zip"):
        assert run(tmp_path, path).stdout.strip() == "lazyfuse beside"


def test_what_lives_on_when_a_module_is_done(tmp_path: Path) -> None:
    """Threads and functions at the end find the program's classes, however it was run."""
    write(
        tmp_path / "ending.py",
        """
        import atexit, pickle, threading, time

        class Kept: pass

        def late():
            time.sleep(0.1)
            print(type(pickle.loads(pickle.dumps(Kept()))) is Kept)

        threading.Thread(target=late).start()
        atexit.register(late)
        """,
    )
    for arguments in (("ending.py",), ("-m", "ending")):
        assert run(tmp_path, *arguments).stdout.split() == ["True", "True"]


def test_packages_of_other_installations_keep_numpy(tmp_path: Path) -> None:
    """Also those that are links to elsewhere."""
    folder = tmp_path / "other" / "site-packages"
    folder.mkdir(parents=True)
    write(folder / "library.py", "import numpy; name = numpy.__name__")
    write(tmp_path / "own.py", "import numpy; name = numpy.__name__")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "site-packages").symlink_to(tmp_path / "sources")
    write(tmp_path / "sources" / "linked.py", "import numpy; name = numpy.__name__")
    places = [str(folder), str(tmp_path / "linked" / "site-packages")]
    text = f"import sys; sys.path += {places}; import library, linked, own; "
    text += "print(library.name, linked.name, own.name)"
    assert run(tmp_path, "-c", text).stdout.split() == ["numpy", "numpy", "lazyfuse"]


def test_who_imports_what_warns(tmp_path: Path) -> None:
    """A module that warns of itself names the line that imports it."""
    said = 'import warnings; warnings.warn("old", DeprecationWarning, stacklevel=2)'
    write(tmp_path / "old.py", said)
    write(tmp_path / "program.py", "import sys\nimport old\n")
    assert "program.py:2: DeprecationWarning: old" in run(tmp_path, "program.py").stderr


def test_a_text(tmp_path: Path) -> None:
    text = "import sys, numpy; print(numpy.__name__, __name__, sys.argv)"
    assert run(tmp_path, "-c", text, "x").stdout.strip() == "lazyfuse __main__ ['-c', 'x']"


def test_libraries_keep_numpy(tmp_path: Path) -> None:
    """What a tool that is installed runs of the program's has lazyfuse, the tool has NumPy."""
    write(
        tmp_path / "test_own.py",
        """
        import numpy as np
        import hypothesis.extra.numpy as library

        def test_own():
            assert np.__name__ == "lazyfuse" and library.np.__name__ == "numpy"
            np.testing.assert_array_equal(np.arange(3) * 2, [0, 2, 4])
        """,
    )
    assert "1 passed" in run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider").stdout


def test_what_the_program_says_and_raises(tmp_path: Path) -> None:
    write(tmp_path / "leaves.py", "import sys; sys.exit(3)")
    run(tmp_path, "leaves.py", status=3)
    write(tmp_path / "fails.py", "import numpy as np\nnp.ones(3) + np.ones(4)\n")
    said = run(tmp_path, "fails.py", status=1).stderr
    assert 'fails.py", line 2' in said and "could not be broadcast" in said
    write(tmp_path / "lacks.py", "import numpy.nothing")
    assert "No module named 'numpy.nothing'" in run(tmp_path, "lacks.py", status=1).stderr
    assert "No module named nothing" in run(tmp_path, "-m", "nothing", status=1).stderr
    write(tmp_path / "encoded.py", "# -*- coding: latin-1 -*-\nprint(ascii('\\xe9'))")
    (tmp_path / "encoded.py").write_bytes((tmp_path / "encoded.py").read_text().encode("latin-1"))
    assert run(tmp_path, "encoded.py").stdout.strip() == r"'\xe9'"


def test_how_it_is_used(tmp_path: Path) -> None:
    for arguments in ((), ("-m",), ("-c",)):
        assert "usage: python -m lazyfuse" in run(tmp_path, *arguments, status=1).stderr
    assert "usage: python -m lazyfuse" in run(tmp_path, "--help").stdout
    assert "can't open file 'none.py'" in run(tmp_path, "none.py", status=2).stderr
    text = "import numpy as np; print(np.linspace(0, 1, 500_000).sum() > 0)"
    assert "kernels launched" in run(tmp_path, "-c", text, LAZYFUSE_REPORT="1").stderr
