"""The test suite. Its environment is set here, before lazyfuse is imported.

Kernels are verified at every stage, arrays live on the CPU unless `LAZYFUSE_DEVICE` says
otherwise, and compiled kernels go to a folder of this run: a kernel of an earlier state of the
sources must not answer for this one.
"""

import os
import tempfile

_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
_FOLDER = os.path.join(tempfile.gettempdir(), f"lazyfuse-test-{os.getuid()}-{_RUN}")
#: The folder that this process has chosen and removes at its end; workers are given theirs.
OWN_FOLDER = None if "LAZYFUSE_CACHE_DIR" in os.environ else _FOLDER

os.environ.setdefault("LAZYFUSE_CHECK", "1")
os.environ.setdefault("LAZYFUSE_DEVICE", "cpu")
os.environ.setdefault("LAZYFUSE_CACHE_DIR", _FOLDER)
