"""The command: runs programs of a seed, and prints those that differ."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import time

from tests.fuzz.check import work


def main() -> int:
    """Run the command; the exit status is 1 when a program differs or a process dies."""
    arguments = _arguments()
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the processes
    context = multiprocessing.get_context("spawn")
    # per process: programs run, programs that differ, number of the program it is at
    counts = [context.Array("q", 3) for _ in range(arguments.jobs)]
    workers = [
        context.Process(target=work, args=(arguments, job, count), daemon=True)
        for job, count in enumerate(counts)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    died = [count[2] for worker, count in zip(workers, counts, strict=True) if worker.exitcode]
    for number in died:
        print(f"the process of program {arguments.seed}/{number} died")
    ran, differ = sum(count[0] for count in counts), sum(count[1] for count in counts)
    spent = time.monotonic() - started
    print(f"{ran} programs, {differ} differ; seed {arguments.seed}, {spent:.0f} s")
    return 1 if differ or died else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="programs follow from it")
    parser.add_argument("--programs", type=int, default=1000, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--failures", type=int, default=10, help="stop a job after so many")
    parser.add_argument("--older", action="store_true", help="compile without AVX-512 (x86)")
    parser.add_argument("--interpreted", action="store_true", help="compile nothing: faster")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
