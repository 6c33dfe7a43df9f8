"""`python -m tests.fuzz --minutes 10 --seed 0`: the long one. Exit code 1: a promise was broken."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from embedding.backbone import load_backbone
from embedding.model_file import save_model
from tests.app.conftest import make_model
from tests.fuzz.campaign import Campaign


def main() -> int:
    """One campaign, told in a few lines."""
    options = _options()
    folder = options.work or Path(tempfile.mkdtemp(prefix="samekind-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    save_model(make_model(load_backbone(), seed=1), folder / "model.samekind")
    campaign, started = Campaign(folder, options.seed, folder / "model.samekind"), time.monotonic()
    campaign.run(options.minutes * 60)
    for what, count in sorted(campaign.counts.items()):
        sys.stdout.write(f"{what:>16}: {count:,}\n")
    sys.stdout.write(f"seed {options.seed}, {time.monotonic() - started:.0f} s, {folder}\n")
    for violation in campaign.violations:
        sys.stdout.write(f"VIOLATED: {violation}\n")
    return 1 if campaign.violations else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="new folder to work in; default: a temporary one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
