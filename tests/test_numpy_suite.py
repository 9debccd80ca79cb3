"""The runner of NumPy's own tests: what it rewrites, what it keeps out, and a slice of the run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.numpy_suite import report
from tests.numpy_suite.driver import Suite, modules
from tests.numpy_suite.principles import Principles, of_value
from tests.numpy_suite.rewrite import rewrite

#: Modules of the slice: seconds to run, and views, writes, joining and sums in them.
SLICE = ["lib/test_twodim_base", "lib/test_stride_tricks"]

SOURCE = """
import numpy as np
import numpy._core.umath as ncu
from numpy._core._multiarray_tests import get_buffer_info

TYPES = [np.float32, object]

class Mine(np.ndarray):
    pass

def helper():
    return np.array(["a", "b"])

class TestBase:
    def setup_method(self):
        self.data = np.arange(3)

class TestOne(TestBase):
    def test_plain(self): assert (self.data == [0, 1, 2]).all()
    def test_object(self): [np.zeros(2, t) for t in TYPES]
    def test_letter(self): np.zeros(2, dtype="O")
    def test_codes(self): [np.zeros(1, t) for t in np.typecodes["All"]]
    def test_record(self): np.zeros(2, [("a", "i4"), ("b", float)])
    def test_string(self): helper()
    def test_subclass(self): np.zeros(2).view(Mine)
    def test_public(self): ncu.add(1, 2)
    def test_private(self): ncu._ones_like(1)
    def test_buffer(self): memoryview(self.data)
    def test_buffer_info(self): get_buffer_info(self.data)
    def test_order(self): np.einsum("ij,jk->ik", np.eye(2), np.eye(2), order="C")
"""


@pytest.mark.parametrize(
    ("test", "principle"),
    [
        ("test_plain", None), ("test_object", "object"), ("test_letter", "object"),
        ("test_codes", "object"), ("test_record", "structured"), ("test_string", "string"),
        ("test_subclass", "subclass"), ("test_public", None), ("test_private", "private"),
        ("test_buffer", "buffer"), ("test_buffer_info", "private"), ("test_order", None),
    ],
)  # fmt: skip
def test_principles_look_at_the_source(test: str, principle: str | None, tmp_path: Path) -> None:
    """A test is kept out by what it reaches, through helpers and constants too."""
    path = tmp_path / "test_source.py"
    path.write_text(SOURCE)
    assert Principles(path).of_source("TestOne", test) == principle


@pytest.mark.parametrize(
    ("value", "principle"),
    [
        (np.float64, None), (np.dtype("i8"), None), ("f8", None), (np.longdouble, None),
        (object, "object"), (np.dtype("O"), "object"), ("S", "string"), ([1, "<U3"], "string"),
        ([("a", "i4")], "structured"), (np.datetime64, "datetime"), (np.matrix, "subclass"),
        (np.array(["x"]), "string"), ("ij,jk", None),
    ],
)  # fmt: skip
def test_principles_look_at_the_case(value: Any, principle: str | None) -> None:
    """The values of a case are judged one by one."""
    assert of_value(value) == principle


def test_rewriting_replaces_public_numpy_only() -> None:
    """Imports of public modules go to lazyfuse; private ones stay."""
    text = rewrite(
        "import numpy as np\nfrom numpy import sum as total\nfrom numpy.testing import assert_\n"
        "from numpy.lib.stride_tricks import as_strided\nimport numpy._core.umath as ncu\n"
    )
    names = {ast.unparse(node) for node in ast.parse(text).body}
    assert {
        "import lazyfuse as np",
        "from lazyfuse import sum as total",
        "from lazyfuse.testing import assert_",
        "as_strided = lazyfuse.lib.stride_tricks.as_strided",
        "import numpy._core.umath as ncu",
    } <= names


def test_listening_blocks_compute_each_statement() -> None:
    """What a block that listens for warnings leaves pending is computed in it; no other is."""
    text = rewrite("with pytest.warns(E):\n    a = f()\n    a /= 0\nwith open(p):\n    b = f()\n")
    assert text.splitlines()[3:] == [
        *("with pytest.warns(E):", "    a = _computed(f())", "    a /= 0", "    _computed(a)"),
        *("with open(p):", "    b = f()"),
    ]


@pytest.mark.engine
def test_a_slice_of_numpys_tests_passes(tmp_path: Path) -> None:
    """Modules that run in seconds: every counted test of them passes; `scripts/numpy_tests` runs
    all.
    """
    paths = modules(SLICE)
    environment = {"LAZYFUSE_DEVICE": "cpu"}
    reference = Suite(tmp_path / "numpy", lazy=False, environment={}).run(paths, processes=1)
    suite = Suite(tmp_path / "lazy", lazy=True, environment=environment)
    lazy = suite.run(paths, processes=1, only=reference)
    summaries = report.summarize(reference, lazy)
    assert len(summaries) == len(SLICE)
    assert report.total(summaries).counted_lazily >= 40
    failed = report.total(summaries).failed
    # NumPy 2.5 compares with arrays that memory is of, which the engine's is not
    assert [name for name in failed if "::test_as_strided_checked" not in name] == []
