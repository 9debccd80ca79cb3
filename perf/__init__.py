"""Benchmarks: one file per question, run by `bash scripts/bench`."""
