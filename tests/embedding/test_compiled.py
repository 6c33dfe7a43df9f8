import subprocess
import sys
from pathlib import Path

from embedding.compiled import compiled


def add_up(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def test_compiled_code_is_the_same_code() -> None:
    assert compiled(add_up)(10) == add_up(10) == 45


def test_without_a_place_for_the_cache_it_is_compiled_anew(tmp_path: Path) -> None:
    """As in a container whose file system is read-only; code from a string has no folder to be cached beside."""
    code = (
        "from embedding.compiled import compiled\n"
        "namespace = {}\n"
        "exec(compile('def twice(n): return 2 * n', '/nonexistent/code.py', 'exec'), namespace)\n"
        "assert compiled(namespace['twice'])(21) == 42\n"
    )
    environment = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PATH": ""}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=Path(__file__).parents[2])
