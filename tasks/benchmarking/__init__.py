"""Speed and memory, as ratios within one run: the rows of `scripts/benchmark.py`."""
