"""Plans that are kept on disk: what is read is what was written, it serves its structure alone,
and a process that finds all its plans imports no planner.
"""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as host
import pytest

from tests import oracle
from tests.programs import Example, examples
from tests.test_views import CASES as VIEWS
from tests.test_writes import CASES as WRITES

if not oracle.IS_ENGINE:
    pytest.skip("NumPy in lazyfuse's place plans nothing", allow_module_level=True)

from lazyfuse import config, sources  # noqa: E402 - when there is an engine
from lazyfuse.cache import disk as disks  # noqa: E402 - likewise
from lazyfuse.cache import plans as kept_plans  # noqa: E402 - likewise
from lazyfuse.cache.plans import (  # noqa: E402 - likewise
    UnwritableError,
    dumped,
    loaded,
    loaded_parts,
    plan_name,
)
from lazyfuse.ir.plan import Launch, Plan  # noqa: E402 - likewise
from lazyfuse.runtime import known, plans, session  # noqa: E402 - likewise
from lazyfuse.runtime.trace import Trace  # noqa: E402 - likewise

lf = oracle.lf
ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.engine
PROGRAMS: dict[str, Example] = examples() | {
    f"{number} {program.__name__}": Example(program, arrays, 0)
    for number, (program, arrays) in enumerate((*VIEWS, *WRITES))
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Plans are kept, in a folder of their own."""
    with oracle.options(disk_cache=True, cache_dir=str(tmp_path), check=False, device="cpu"):
        lf.cache_clear()
        yield tmp_path
    lf.cache_clear()


def evaluated(example: Example) -> Any:
    """The results of a program in a process that has met nothing, or its exception."""
    lf.cache_clear()
    lf.reset_stats()
    try:
        return oracle.evaluate(example.program, *example.arrays)
    except Exception as error:  # noqa: BLE001 - any exception is an answer here
        return str(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan without library calls is written, read as it was, and gives the same bits."""
    written: list[Plan] = []

    def noted(plan: Plan) -> bytes:
        written.append(plan)
        return dumped(plan)

    monkeypatch.setattr(plans, "dumped", noted)
    first = evaluated(PROGRAMS[name])
    made = lf.stats().plans_built
    for plan in written:
        again = loaded(dumped(plan))
        assert plain(dumped(again)) == plain(dumped(plan))
        assert kernels(again) == kernels(plan)
    second = evaluated(PROGRAMS[name])
    stats = lf.stats()
    assert stats.plans_loaded >= len(written)
    assert made - len(written) == stats.plans_built, "a plan was written and not found"
    assert [*oracle.compare("result", first, second)] == []


def plain(content: bytes) -> list[Any]:
    """What is written, as plain data."""
    rows, *rest = marshal.loads(content)
    return [marshal.loads(rows), *rest]


def kernels(plan: Plan) -> list[str]:
    """The texts of a plan's kernels."""
    return [step.kernel.text for step in plan.steps if isinstance(step, Launch)]


def test_deep_graphs() -> None:
    """Nothing recurses through the nodes."""
    with lf.options(max_pending_nodes=10_000):
        for _ in range(2):
            lf.cache_clear()
            x = y = lf.asarray(host.arange(3.0))
            for _ in range(3000):
                y = y + x
            host.testing.assert_array_equal(lf.asnumpy(y), host.arange(3.0) * 3001)
    assert lf.stats().plans_loaded == lf.stats().plans_built == 1


def steps_in_place(x: Any) -> Any:
    """Time steps: writes into copies, by equal kernels."""
    u = x.copy()
    for _ in range(3):
        new = u.copy()
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = new
    return u


@pytest.mark.parametrize("program", (steps_in_place, lambda x: (x * 2 + 1).sum() + x))
def test_nodes_are_read_when_they_are_asked_for(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run needs none of them, nor the texts of kernels; and equal kernels are read once."""
    data, read, made = host.arange(100_000.0), kept_plans.loaded, []

    def noted(content: bytes) -> Plan:
        made.append(read(content))
        return made[-1]

    monkeypatch.setattr(plans, "loaded", noted)
    wanted = program(data)
    with lf.options(cold_size=0):
        for is_again in (False, True):
            lf.cache_clear()
            with monkeypatch.context() as patched:
                if is_again:
                    patched.delattr(kept_plans, "_node")
                host.testing.assert_array_equal(lf.asnumpy(program(lf.asarray(data))), wanted)
    (plan,) = made
    kernels = [step.kernel for step in plan.steps if isinstance(step, Launch)]
    assert not any("text" in kernel.__dict__ for kernel in kernels)
    assert len({id(kernel) for kernel in kernels}) == len({kernel.text for kernel in kernels})
    digests = {kernel.digest for kernel in kernels}
    assert digests == {replace(kernel).digest for kernel in kernels}
    assert {*plan.slots} >= {node for step in plan.steps for node in written_by(step)}


def written_by(step: Any) -> list[Any]:
    return [node for _, node in step.stores] if isinstance(step, Launch) else [step.node]


def pending(array: Any) -> Trace:
    """What has to be run for an array."""
    return Trace([array._storage.current()])


def structures() -> list[Trace]:
    """Traces that differ in one thing each."""
    x, y = lf.asarray(host.arange(60.0)), lf.asarray(host.ones(60))
    table, small = x.reshape(6, 10).copy(), lf.asarray(host.ones(60, "f4"))
    lf.materialize(x, y, table, small)
    two, other = 2.5, float(str(2.5))  # one object, and another one
    mask = x > 3
    values = [
        x + y, y - x, x + x, x + small, small + small, x[:30] + y[:30], x[::2] + y[::2],
        x[1:] + y[1:], x * two + two, x * two + other, x * two - two, table.sum(),
        table.sum(axis=0), table.T.sum(axis=0), table.sum(axis=1), table.max(axis=0),
        table.cumsum(axis=0), table.cumsum(axis=1), table + 1, table.T + 1, lf.where(mask, x, y),
        lf.where(x > 3, y, x), lf.add(x, y, where=mask, out=y * 1), x.astype("f4"),
        x.astype("i4"), lf.arange(60) * x, lf.ones(60) * x, x[lf.asarray([3, 4] * 9)],
    ]  # fmt: skip
    return [pending(value) for value in values]


def names() -> list[str]:
    """What the plans of some structures are kept under."""
    return [plan_name(trace.structure, config.Options(), "backend") for trace in structures()]


def test_names_tell_structures_apart() -> None:
    found, again = names(), names()
    assert len(set(found)) == len(found)
    assert found == again
    trace = structures()[0].structure
    decisive = [
        (config.Options(), "a"), (config.Options(), "b"), (config.Options(fusion=False), "a"),
        (config.Options(max_kernel_ops=7), "a"),
    ]  # fmt: skip
    assert len({plan_name(trace, *some) for some in decisive}) == len(decisive)


def test_names_are_the_same_in_every_process() -> None:
    """Whatever the seed of hashes."""
    code = "from tests.test_kept_plans import names; print(*names())"
    told = [run(code, PYTHONHASHSEED=seed).split() for seed in ("1", "2")]
    assert told[0] == told[1] == names()


def run(code: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False, env=os.environ | {"LAZYFUSE_CHECK": "0"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.cpu("plans on disk")
def test_a_process_that_finds_its_plans_imports_no_planner(folder: Path) -> None:
    """Neither for what is run as a whole nor for single functions."""
    code = """
    import sys
    import numpy, lazyfuse as lf
    x = lf.array(numpy.linspace(0, 1, 200_000))
    total = float((lf.exp(x) * x + 1).sum())
    small = lf.asnumpy(lf.sin(x[:100] * 1) + lf.log1p(x[:50_000])[:100])
    stats = lf.stats()
    print(total, small.tobytes().hex()[:400])
    print(stats.plans_built, stats.plans_loaded, stats.kernels_compiled, stats.kernels_loaded,
          "lazyfuse.runtime.planner" in sys.modules)
    """
    own = {"LAZYFUSE_CACHE_DIR": str(folder / "own"), "LAZYFUSE_EAGER_SIZE": "30000"}
    first, second = (run(code, LAZYFUSE_COLD_SIZE="100000", **own) for _ in range(2))
    values, counts = first.splitlines()
    built, read, compiled, found, has_planner = counts.split()
    assert int(built) >= 1 and read == "0" and int(compiled) >= 3 and found == "0"
    assert has_planner == "True"
    assert second.splitlines() == [values, f"0 {built} 0 {compiled} False"]


def test_content_of_another_kind(folder: Path) -> None:
    """Files that match their digest but are no plans are made anew."""
    x = lf.asarray(host.arange(1000.0))
    lf.materialize(x * 3 + 1)
    disk = session.disk_cache(str(folder))
    plan_files = [name for name in stems(folder) if is_plan(disk.read(name))]
    assert len(plan_files) == 1
    kept = disk.read(plan_files[0])
    assert kept is not None
    others = marshal.dumps(([], 5)), marshal.dumps(([(99, [], [])], 0))
    for content in (b"", b"garbage", *others, kept[:-1]):
        disk.write(plan_files[0], content)
        lf.cache_clear()
        lf.reset_stats()
        host.testing.assert_array_equal(lf.asnumpy(x * 3 + 1), host.arange(1000.0) * 3 + 1)
        assert (lf.stats().plans_built, lf.stats().plans_loaded) == (1, 0)
        assert is_plan(disk.read(plan_files[0]))


def stems(folder: Path) -> list[str]:
    return [path.stem for path in folder.glob("*.kernel")]


def is_plan(content: bytes | None) -> bool:
    try:
        return content is not None and isinstance(loaded(loaded_parts(content)[2]), Plan)
    except Exception:  # noqa: BLE001 - object code is read as anything
        return False


def test_library_calls_are_not_kept(folder: Path) -> None:
    """They are functions of this process."""
    x = lf.asarray(host.arange(100.0).reshape(10, 10))
    for _ in range(2):
        lf.cache_clear()
        lf.reset_stats()
        product = x @ x + 1
        plan = plans.made_now(pending(product).graph(), config.current(), session.backend("cpu"))
        with pytest.raises(UnwritableError):
            dumped(plan)
        lf.reset_stats()
        lf.materialize(product)
        assert (lf.stats().plans_built, lf.stats().plans_loaded) == (1, 0)


def test_ever_new_sizes_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a plan of kernels that are there takes less than writing a file."""
    monkeypatch.setattr(known, "shape_class", lambda pending: None)  # none follows from others
    x = lf.asarray(host.arange(1000.0))
    for size in range(895, 995):  # what is read with its neighbours has other kernels
        lf.materialize(x[:size] * 3 + x[1000 - size :])
    assert lf.stats().plans_built >= 99
    assert sum(is_plan(session.disk_cache(str(folder)).read(name)) for name in stems(folder)) <= 3


def test_whoever_verifies_makes_plans() -> None:
    x = lf.asarray(host.arange(1000.0))
    for _ in range(2):
        lf.cache_clear()
        lf.reset_stats()
        with lf.options(check=True):
            lf.materialize(x * 5 - 1)
        assert (lf.stats().plans_built, lf.stats().plans_loaded) == (1, 0)


def test_explanations_tell_own_lines() -> None:
    """Not those of the process that made the plan, nor none."""
    x = lf.asarray(host.arange(1000.0))
    for _ in range(2):
        lf.cache_clear()
        lf.materialize(x * 7 - 2)
    assert lf.stats().plans_loaded
    told = str(lf.explain(x * 7 - 2))
    assert told.count(f"({Path(__file__).name}:") >= 2


def test_another_version_of_the_package_finds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes, times and names of files tell versions apart; where there are no files, each run is
    a version of its own."""
    package = tmp_path / "package"
    (package / "ir" / "below").mkdir(parents=True)
    monkeypatch.setattr(sources, "_PACKAGE", package)
    monkeypatch.setattr(sources, "_STARTED", 1 << 62)
    seen = []

    def look() -> None:
        sources.sources.cache_clear()
        seen.append(sources.sources("ir"))

    try:
        look()
        look()
        file = package / "ir" / "below" / "node.py"
        file.write_text("a = 1\n")
        look()
        file.write_text("a = 10\n")
        look()
        os.utime(file, ns=(5, 5))
        look()
        file.rename(file.with_name("other.py"))
        look()
        assert len(set(seen)) == len(seen)
        look()
        assert seen[-1] == seen[-2]
    finally:
        sources.sources.cache_clear()


def test_files_that_changed_after_the_import_name_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this process runs is not what lies there: it neither keeps nor finds anything."""
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "node\udcff.py").write_text("a = 1\n")
    monkeypatch.setattr(sources, "_PACKAGE", tmp_path)
    names = set()
    try:
        for started in (1 << 62, 1 << 62, 0, 0):
            monkeypatch.setattr(sources, "_STARTED", started)
            sources.sources.cache_clear()
            names.add(sources.sources("ir"))
        assert len(names) == 3
    finally:
        sources.sources.cache_clear()


def test_a_binary_is_read_under_its_own_key(folder: Path) -> None:
    disk = disks.DiskCache(str(folder / "keys"))
    disk.write("one", b"1")
    disk.write("other", b"2")
    os.replace(folder / "keys" / "one.kernel", folder / "keys" / "other.kernel")
    assert disk.read("other") is None and disk.read("one") is None
    disk.write("one", b"1")
    assert disk.read("one") == b"1"


def test_what_cannot_be_written_leaves_no_file(folder: Path) -> None:
    """Nor does a writer that ended in the middle for ever."""
    place = folder / "full"
    disk = disks.DiskCache(str(place))
    (place / "taken.kernel").mkdir(parents=True)
    place.chmod(0o700)
    disk.write("taken", b"1")
    assert [path.name for path in place.iterdir()] == ["taken.kernel"]
    for age, stays in ((7200.0, False), (0.0, True)):
        left = place / ".new-left"
        left.write_bytes(b"half")
        os.utime(left, (time.time() - age,) * 2)
        disk.prune()
        assert left.exists() is stays
    disk.clear()
    assert not left.exists()


def test_the_folder_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as the blocks that they take, and are counted every so many bytes."""
    monkeypatch.setattr(disks, "LIMIT", 40 * 4096)
    monkeypatch.setattr(disks, "PRUNE_EVERY", 10 * 4096)
    disk = disks.DiskCache(str(folder / "small"))
    for number in range(200):
        disk.write(f"{number:064d}", b"x")
    assert 30 <= len(stems(folder / "small")) <= 50
    assert f"{199:064d}" in stems(folder / "small")


def test_a_folder_with_a_name_that_is_too_long(tmp_path: Path) -> None:
    """To look for a plan there raised OSError."""
    cache = disks.DiskCache(str(tmp_path / ("x" * 300)))
    assert not cache.has("0" * 64) and cache.read("0" * 64) is None


def test_a_plan_on_disk_is_read_soon() -> None:
    """A structure of few elements is interpreted for 20 ms; 2 ms where an earlier process has left
    its plan."""
    x = lf.array(host.linspace(1.0, 2.0, 3_000))

    def runs() -> int:
        """How often the program is interpreted in a process that has just begun."""
        lf.cache_clear()
        lf.reset_stats()
        for _ in range(30_000):
            before = lf.stats().cold_runs
            lf.materialize((x * 3.0 - 1.0) / 7.0)
            if lf.stats().cold_runs == before:
                return before
        raise AssertionError("never planned")

    with oracle.options(cold_size=1_000_000, eager_size=0):
        first = runs()
        assert (lf.stats().plans_built, lf.stats().plans_loaded) == (1, 0)
        assert runs() < first / 2
        assert (lf.stats().plans_built, lf.stats().plans_loaded) == (0, 1)
