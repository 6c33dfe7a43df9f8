"""What a process keeps of the memory that it has freed."""

import subprocess
import sys

import pytest

SCRIPT = """
import gc
import psutil
from embedding.process import give_back_freed_memory, keep_freed_memory

def resident_mb():
    return psutil.Process().memory_info().rss // 10**6

keep_freed_memory()
before = resident_mb()
pieces = [b"x" * 1_000_000 for _ in range(200)]
del pieces
gc.collect()
kept = resident_mb() - before
give_back_freed_memory()
print(kept, resident_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is about glibc")
def test_freed_memory_is_kept_until_it_is_given_back() -> None:
    output = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    kept, left = map(int, output.split())
    assert kept > 150
    assert left < 50
