"""Bulk work on a shared collection: spread over processes, on one machine or many, by Ray.

Each worker is one more replica. What it does with a batch can be done again, so a batch whose worker died is given to
another one, and a run that was killed goes on by being started again. Ray is an optional extra, imported here alone.
"""
