"""Long measurements: each module is one command, `python -m benchmarks.NAME --help`."""
