"""Random bad uploads, against the real service, for as long as one likes: `python -m tests.fuzz --minutes 10`."""
