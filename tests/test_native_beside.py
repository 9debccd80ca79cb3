"""Another process compiles the machine code of methods, while a program goes on without."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests import oracle

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place has no machine code", allow_module_level=True)
if not hasattr(os, "posix_spawn"):
    pytest.skip("no other process on this system", allow_module_level=True)

from lazyfuse.runtime import beside  # noqa: E402 - when there is an engine

ROOT = Path(__file__).parents[1]
PROGRAM = """
import os, signal, sys, time
import lazyfuse as np
from lazyfuse.frontend import native_methods
from lazyfuse.runtime import native_aside

def is_native():
    return not hasattr(vars(np.LazyArray)["__add__"], "__code__")

def hot(until):
    end = time.monotonic() + 60
    a, b = np.arange(200.0), np.zeros(200)
    while not until() and time.monotonic() < end:
        assert float((a + b)[3]) == 3.0
    assert until()

made, make = [], native_aside._made_aside

def counted(recording):
    made.append(recording)
    return make(recording)

native_aside._made_aside = counted

def is_without_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False
"""
#: Python 3.12 warns of forks beside threads.
QUIETLY = ("-W", "ignore::DeprecationWarning")


def run(text: str, folder: Path) -> None:
    """Run a program that has so far nothing in its folder, on small arrays."""
    settings = {
        "LAZYFUSE_CACHE_DIR": str(folder), "LAZYFUSE_DISK_CACHE": "1",
        "LAZYFUSE_EAGER_SIZE": "30000", "LAZYFUSE_COLD_SIZE": "400000", "LAZYFUSE_DEVICE": "cpu",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, *QUIETLY, "-c", PROGRAM + textwrap.dedent(text)], cwd=ROOT, timeout=300,
        capture_output=True, text=True, env=os.environ | settings,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def wait_for(folder: Path, count: int) -> None:
    """Wait until so many large files are in a folder: two are made in haste, and two with care."""
    end = time.monotonic() + 60
    while sum(path.stat().st_size > 20_000 for path in folder.glob("*.kernel")) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_compiles(tmp_path: Path) -> None:
    """And then better, for processes to come. The program itself compiles nothing, and has no
    process afterwards that it would have to wait for."""
    run("hot(is_native); assert not made and is_without_children()", tmp_path)
    wait_for(tmp_path, 4)


def test_who_ends_waits_for_nothing(tmp_path: Path) -> None:
    """The other process goes on: the next program finds its work."""
    run("hot(lambda: native_aside._processes)", tmp_path)
    wait_for(tmp_path, 4)
    run("hot(is_native); assert native_aside._untried and not made", tmp_path)


@pytest.mark.parametrize(
    "fault",
    (
        'native_methods._KEEP = "raise SystemExit(3)"',
        'native_methods._KEEP = "import os; os.kill(os.getpid(), 9)"',
        'native_methods._KEEP = "from lazyfuse.runtime import beside; beside.tell()"',
        'sys.executable = "/nonexistent/python"',
        'sys.executable = "/bin/false"',
        "sys.frozen = True",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.nice = None",
    ),
)
def test_what_fails_there_is_compiled_here(fault: str, tmp_path: Path) -> None:
    """It ends without, or keeps nothing, or does not begin. Where ended processes are forgotten at
    once there is none to wait for, which is no failure."""
    is_heard = "SIGCHLD" in fault
    run(f"{fault}\nhot(is_native); assert bool(made) != {is_heard}", tmp_path)


def test_where_nothing_can_be_kept_a_thread_compiles(tmp_path: Path) -> None:
    """A file is in the folder's place; or nothing is to be kept."""
    (tmp_path / "file").write_text("")
    run("hot(is_native); assert made and is_without_children()", tmp_path / "file")
    run(
        "with np.options(disk_cache=False): hot(is_native)\nassert made and native_aside._untried",
        tmp_path,
    )


def test_a_fork_begins_anew(tmp_path: Path) -> None:
    """Its parent is told as before, and a child that nobody tells asks for itself."""
    program = """
        hot(lambda: native_aside._processes)
        child = os.fork()
        if child == 0:
            assert not native_aside._processes
            hot(is_native)
            os._exit(7)
        hot(is_native)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert is_without_children() and not made
    """
    run(program, tmp_path)


def test_a_folder_that_has_gone_is_not_made_again(tmp_path: Path) -> None:
    """Somebody has removed it while the other process compiled."""
    program = """
        import lazyfuse
        from lazyfuse.frontend import native_methods
        native_methods.keep(lazyfuse.LazyArray)
    """
    settings = {"LAZYFUSE_CACHE_DIR": str(tmp_path / "gone"), "LAZYFUSE_DISK_CACHE": "1"}
    made = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(
        made, cwd=ROOT, timeout=100, stdout=subprocess.PIPE, env=os.environ | settings
    )
    assert (done.returncode, done.stdout) == (0, beside._SIGN)
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    "executable,is_possible",
    (
        ("/usr/bin/python3.11", True), ("/opt/x/Python", True), ("/usr/bin/uwsgi", False),
        ("", False), (None, False),
    ),
)  # fmt: skip
def test_a_program_is_not_begun_twice(
    executable: str | None, is_possible: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python within another program: what it names is that program, or nothing."""
    monkeypatch.setattr(sys, "executable", executable)
    assert beside.is_possible() == is_possible
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not beside.is_possible()


def test_it_finds_what_this_one_finds(tmp_path: Path) -> None:
    """A module of a folder that this program has added, and what is given; the standard streams
    are its own."""
    (tmp_path / "only_here.py").write_text("value = 1")
    program = """
        import sys
        from lazyfuse.runtime import beside
        sys.path.insert(0, sys.argv[1])
        statement = "import only_here, os; print('said', flush=True); assert os.environ['GIVEN']; "
        statement += "from lazyfuse.runtime.beside import tell; sys.stdin.read() or tell()"
        process, reading = beside.begin(statement, {"GIVEN": "x"})
        told = None
        while told is None:
            told = beside.heard(reading)
        beside.end(process, reading)
        assert told
    """
    made = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    subprocess.run(made, check=True, cwd=ROOT, timeout=100)
