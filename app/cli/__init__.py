"""The `samekind` command."""

import os

# Before anything imports numpy, torch or FAISS: with two OpenMP threads on a busy machine FAISS takes 20 times as long,
# and faiss.omp_set_num_threads reaches only the thread that calls it. torch is told its own count in `app.parts`.
os.environ["OMP_NUM_THREADS"] = "1"

from app.cli.program import cli, main

__all__ = ["cli", "main"]
