"""Timed scripts, `python -m benchmarks.NAME`: each prints the product beside a baseline of the same run."""
