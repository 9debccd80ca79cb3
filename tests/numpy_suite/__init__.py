"""NumPy's own tests, run with lazyfuse in NumPy's place.

`python -m tests.numpy_suite` copies the test modules of the installed NumPy into a temporary
folder twice: as they are, and rewritten (`rewrite.py`). Both are run by pytest in a process per
module (`driver.py`, with `recorder.py` as plugin); `principles.py` says which tests look at what
no lazy array can have, `report.py` writes docs/numpy-tests.md.
"""
