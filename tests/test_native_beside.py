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
import os, signal, sys, threading, time
import lazyfuse as np
from lazyfuse.frontend import native_methods
from lazyfuse.runtime import beside, native_aside

def is_native():
    return not hasattr(vars(np.LazyArray)["__add__"], "__code__")

def hot(until):
    end = time.monotonic() + 60
    a, b = np.arange(200.0), np.zeros(200)
    while not until() and time.monotonic() < end:
        assert float((a + b)[3]) == 3.0
    assert until()

def begun():
    return bool(native_aside._processes)

def runs():
    number = native_aside._processes[0].number
    return os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

def is_without_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return True
    return False

made, loaded = [], []  # by a thread; from disk
make, look = native_aside._made_aside, native_aside.binaries

def counted(recording):
    made.append(recording)
    return make(recording)

def looked(*args, **kwargs):
    loaded.append(look(*args, **kwargs))
    return loaded[-1]

native_aside._made_aside, native_aside.binaries = counted, looked
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


def count(folder: Path) -> int:
    """The large files in a folder: two are made in haste, and two with care."""
    return sum(path.stat().st_size > 20_000 for path in folder.glob("*.kernel"))


def wait_for(folder: Path, expected: int) -> None:
    """Wait until so many large files are in a folder."""
    end = time.monotonic() + 60
    while count(folder) < expected:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_compiles(tmp_path: Path) -> None:
    """And then better, for processes to come, for which nobody waits. The program itself compiles
    nothing, and has no process afterwards that it would have to wait for."""
    run("""
        hot(is_native)
        assert loaded[0].is_hasty and not made and is_without_children()
    """, tmp_path)  # fmt: skip
    wait_for(tmp_path, 4)


def test_who_ends_waits_for_nothing(tmp_path: Path) -> None:
    """The other process goes on: the next program finds its work."""
    run("hot(begun)", tmp_path)
    assert count(tmp_path) < 4
    wait_for(tmp_path, 4)
    run("hot(is_native); assert not native_aside._beginner and not made", tmp_path)


def test_threads_that_ask_at_once(tmp_path: Path) -> None:
    """One process compiles for all of them, and no thread does."""
    run("""
        threads = [threading.Thread(target=hot, args=(is_native,)) for _ in range(6)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not made
    """, tmp_path)  # fmt: skip


def test_files_are_the_programs_own(tmp_path: Path) -> None:
    """Who waits for the end of a pipe, or for a lock, waits for all who have it."""
    run("""
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        hot(begun)
        os.close(writing)
        assert os.read(reading, 1) == b"" and runs()
    """, tmp_path)  # fmt: skip


def test_whoever_is_interrupted_has_it_all_the_same(tmp_path: Path) -> None:
    """At any line of what begins the process: by another one, or by a thread."""
    run("""
        traced = native_aside.begin_process, native_aside.is_at_work, beside.begin
        codes = {function.__code__ for function in (*traced, beside._inheritable)}
        wanted, seen = 0, 0

        def trace(frame, event, argument):
            global seen
            if event == "line":
                seen += 1
                if seen == wanted:
                    raise KeyboardInterrupt
            return trace

        def interrupted():
            sys.settrace(lambda frame, *rest: trace if frame.f_code in codes else None)
            try:
                native_methods.make_native_if_worth(np.LazyArray)
                return False
            except KeyboardInterrupt:
                return True
            finally:
                sys.settrace(None)

        native_methods.session.uses[0] = 30_000
        native_methods._KEEP = "pass"  # a thread compiles
        native_aside._made_aside = lambda recording: made.append(1)
        native_methods.make_native = lambda kind, compiles: False
        is_last = False
        while not is_last:
            wanted, seen = wanted + 1, 0
            native_methods._steps.clear(), native_methods._failures.clear(), made.clear()
            native_aside._beginner.clear(), native_aside._over.clear()
            native_aside._processes.clear()
            is_last = not interrupted()
            end = time.monotonic() + 20
            while not made and time.monotonic() < end:
                native_methods.make_native_if_worth(np.LazyArray)
                time.sleep(0.002)
            assert made, wanted
            native_aside._aside.clear()
        assert wanted > 15
    """, tmp_path)  # fmt: skip


def test_a_removed_folder_can_be_worked_in() -> None:
    """Nothing is asked of it when lazyfuse is imported. Python 3.13.0 asks itself, and fails."""
    program = """
        import os, sys, tempfile
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
        sys.path.insert(0, "")
        import """

    def ends(module: str) -> bool:
        made = [sys.executable, "-c", textwrap.dedent(program + module)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(made, timeout=100, env=environment, check=False).returncode == 0

    if not ends("numpy"):
        pytest.skip("NumPy cannot be imported there, either")
    assert ends("lazyfuse")


def test_a_process_that_is_left_ends_in_time(tmp_path: Path) -> None:
    """Also where the program ignores the signal that ends it."""
    run("""
        beside.LONGEST = 1
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        process = beside.begin("import time; time.sleep(1000)", {})
        _, status = os.waitpid(process.number, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGALRM
        statement = "from lazyfuse.runtime import beside; import os, time; "
        statement += "beside.LONGEST_LEFT = 1; beside.go_on(); time.sleep(1000)"
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        beside._inheritable = list  # who has the pipe has not ended
        process = beside.begin(statement, {})
        os.close(writing)
        assert os.read(reading, 1) == b""
    """, tmp_path)  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    (
        'native_methods._KEEP = "raise SystemExit(3)"',
        'native_methods._KEEP = "import os; os.kill(os.getpid(), 9)"',
        'native_methods._KEEP = "pass"',
        'native_methods._KEEP = "import time; time.sleep(1000)"; beside.LONGEST = 1',
        'sys.executable = "/nonexistent/python"',
        'sys.executable = os.path.join(os.environ["LAZYFUSE_CACHE_DIR"], "python")',
        "sys.frozen = True",
        "os.listdir = None",
    ),
)
def test_what_fails_there_is_compiled_here(fault: str, tmp_path: Path) -> None:
    """It ends without, or keeps nothing, or for ever; or does not begin. No process is left."""
    (tmp_path / "python").symlink_to("/bin/false")
    run(f"{fault}\nhot(is_native); assert len(made) == 1 and is_without_children()", tmp_path)


@pytest.mark.parametrize(
    "program",
    (
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN); hot(is_native)",
        "hot(begun); os.waitpid(-1, 0); hot(is_native)",
        "hot(begun); os.closerange(3, 64); hot(is_native)",
    ),
)
def test_whoever_else_ends_it(program: str, tmp_path: Path) -> None:
    """The system, or a program that waits for whatever ends, or closes whatever is open."""
    run(program + "; assert not made", tmp_path)


def test_where_nothing_can_be_kept_a_thread_compiles(tmp_path: Path) -> None:
    """A file is in the folder's place; or nothing is to be kept."""
    (tmp_path / "file").write_text("")
    run("hot(is_native); assert made and not begun() and native_aside._over", tmp_path / "file")
    run("""
        with np.options(disk_cache=False): hot(is_native)
        assert made and not native_aside._beginner
    """, tmp_path)  # fmt: skip


def test_a_fork_begins_anew(tmp_path: Path) -> None:
    """Its parent is told as before, and a child that nobody tells asks for itself."""
    program = """
        hot(begun)
        child = os.fork()
        if child == 0:
            assert not begun()
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
    subprocess.run(made, cwd=ROOT, timeout=100, check=True, env=os.environ | settings)
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
    """Modules of the folders that were there when lazyfuse was imported, wherever the program is
    now, and what is given; its standard streams are its own, and bytecode is kept as here."""
    program = """
        import os, sys, time
        sys.path.insert(0, sys.argv[1])
        from lazyfuse.runtime import beside
        sys.dont_write_bytecode, sys.pycache_prefix = True, sys.argv[1]
        os.chdir("/")
        statement = "import only_here, os, sys; print('said'); assert os.environ['GIVEN'] == 'x'; "
        statement += "assert sys.flags.dont_write_bytecode and not sys.stdin.read(); "
        statement += "assert sys.pycache_prefix and 'tests' in os.listdir(sys.path[1]); "
        statement += "only_here.end()"
        process = beside.begin(statement, {"GIVEN": "x"})
        _, status = os.waitpid(process.number, 0)
        assert os.waitstatus_to_exitcode(status) == 7 and process.has_ended()
    """
    (tmp_path / "only_here.py").write_text("import os\ndef end(): os._exit(7)")
    made = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    done = subprocess.run(made, check=True, cwd=ROOT, timeout=100, capture_output=True)
    assert done.stdout == done.stderr == b""
