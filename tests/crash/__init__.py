"""The real server and the real ingest, killed at random instants: what was acknowledged is there, and nothing else.

    python -m tests.crash --kills 200 --seed 0

The instants come from the machine's clock, so a seed repeats what is done, not what it is in the midst of.
"""
