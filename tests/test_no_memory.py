"""Machine code without memory: whichever allocation fails, Python goes on, with MemoryError or
with the result.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import oracle
from tests.environment import python_path

pytest.importorskip("_testcapi", reason="this Python has no tests of its own")
if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no engine", allow_module_level=True)

pytestmark = [pytest.mark.engine, pytest.mark.cpu("machine code that records")]

_PROGRAM = """
import _testcapi, gc, sys
import lazyfuse as np
from lazyfuse.frontend import native_methods
from lazyfuse.ir.storage import RECENT

N = 40_000
a, b, A = np.ones(N), np.full(N, 3.0), np.ones((10, N // 10))
m = a > 2
statement = compile(sys.argv[1], "statement", "eval")
for _ in range(1500):
    eval(statement)
assert native_methods.make_native(np.LazyArray)
for _ in range(1500):
    eval(statement)
gc.disable()
failed = 0
for number in range(250):
    result = error = None
    _testcapi.set_nomemory(number, number + 1)
    try:
        result = eval(statement)
    except BaseException as raised:
        error = raised
    finally:
        _testcapi.remove_mem_hooks()
    assert error is None or type(error) is MemoryError, repr(error)
    assert all(each is None or callable(each) for each in RECENT)
    (a.reshape(10, -1) + 1)[0] * 2
    failed += error is not None
    del result, error
assert failed, "no allocation failed"
assert float(eval(statement).sum()) == float(sys.argv[2])
"""


@pytest.mark.parametrize(
    ("statement", "total"),
    (
        ("np.add(a, b)", 160_000), ("a * b", 120_000), ("np.sqrt(a)", 40_000),
        ("np.where(m, a, b)", 120_000), ("np.sum(A, axis=0)", 40_000),
        ("np.clip(b, 0.0, 2.0)", 80_000), ("(a + 1) * b - 2", 160_000),
        ("a.reshape(10, -1)", 40_000), ("(a.reshape(10, -1) + 1) * 2", 160_000),
        ("b[1:] - 2", 39_999),
    ),
)  # fmt: skip
def test_every_allocation_may_fail(statement: str, total: int) -> None:
    environment = os.environ | {"PYTHONPATH": python_path(), "LAZYFUSE_EAGER_SIZE": "30000"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, statement, str(total)], env=environment,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-800:]
