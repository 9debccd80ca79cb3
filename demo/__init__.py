"""Three array programs, written once, run with numpy and with lazyfuse: `python -m demo`."""
