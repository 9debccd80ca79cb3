"""Benchmarks, run by `bash scripts/bench`: real programs, with lazyfuse and with other libraries.

    settings   what a run measures                    the options of the command line
    workloads  programs `f(xp, data)` and inputs      one file per field of use
    peers      libraries: workload, inputs -> call    each runs the shared program where it can
    worker     one library in a process of its own    checks its result, then times calls
    arena      workers in turns                       samples of all of them
    test_*     one question per file                  samples become pytest-benchmark's entries
    first_call new processes, empty caches            first calls, memory
    results    entries and their ratios               a short JSON file
    report     tables, plots, promises                the page

A new program is a function and a row in a file of `workloads/`; a version for Numba or numexpr is
a function and a row in `peers/`. A new library is a function and a row in `peers/__init__.py`.
"""
