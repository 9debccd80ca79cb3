"""A differential fuzzer: random programs in NumPy and in lazyfuse, in every way to run.

    bash scripts/fuzz --seed 1 --programs 1000

`draft` grows a program statement by statement against NumPy (`statements`, made of `operands`),
`rules` says which statements have no single right answer, `modes` lists the ways to run,
`compare` runs a program in one of them and tells what differs, `warned` what it is warned of,
`shrink` makes a failing program small, and `__main__` is the command. A program is a list of
statements in plain text; everything follows from its seed. A statement that raises is part of the
program, which goes on after it.
"""
