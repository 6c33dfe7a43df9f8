"""`python -m tests.crash --kills 200 --seed 0`: the long one. Exit code 1: a promise was broken."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from tests.crash.cycle import Victim
from tests.crash.program import Violation

_CHECK_EVERY = 8  # steps of a lane: it takes as long as two or three of them

_writing = Lock()


def main() -> int:
    """Runs the lanes side by side, each with a data folder of its own, until there were enough kills."""
    options = _options()
    work = options.work or Path(tempfile.mkdtemp(prefix="samekind-crash-"))
    started = time.monotonic()
    seeds = [options.seed * 1000 + lane for lane in range(options.lanes)]
    kills = -(-options.kills // options.lanes)
    with ThreadPoolExecutor(options.lanes) as pool:
        counts = list(pool.map(lambda seed: _lane(work / f"seed-{seed}", seed, kills), seeds))
    total = sum(filter(None, counts), Counter[str]())
    _say(
        f"{total['kills']} kills, {total['answers']:,} answers before them, {total['checks']} clean checks, "
        f"{time.monotonic() - started:.0f} s; seed {options.seed}, {work}"
    )
    if None in counts:
        _say(f"VIOLATED with --kills {options.kills} --seed {options.seed} --lanes {options.lanes}: see above.")
        return 1
    _say("Everything that was acknowledged was there, nothing that was deleted came back.")
    return 0


def _lane(work: Path, seed: int, kills: int) -> Counter[str] | None:
    """What was counted; None after a violation, which leaves the folder as it is."""
    victim = Victim(work, seed)
    try:
        for number in range(1, 10 * kills):
            done = victim.step()
            if number % _CHECK_EVERY == 0:
                done = f"{done}; {victim.check()}"
            _say(f"{seed}/{number}: {done}")
            if victim.counts["kills"] >= kills:
                break
        _say(f"{seed}: {victim.finish_ingest()}; {victim.check()}")
    except Violation as violation:
        _say(f"{seed}: VIOLATED: {violation}\nThe data folder and the logs are in {work}.")
        return None
    return victim.counts


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=2, help="data folders at once: a start keeps one core busy")
    parser.add_argument("--work", type=Path, help="new folder to work in; default: a temporary one")
    return parser.parse_args()


def _say(line: str) -> None:
    with _writing:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
