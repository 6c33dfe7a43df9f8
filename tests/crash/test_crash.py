"""The short version: `python -m tests.crash` is the long one."""

from pathlib import Path

from tests.crash.cycle import Victim


def test_what_was_acknowledged_is_there_after_sigkill(tmp_path: Path) -> None:
    """Each way to be killed, on one data folder, the first one while that is made; nearly all the time is start-up."""
    victim = Victim(tmp_path, seed=1)
    for step in (
        victim.kill_while_starting,
        victim.kill_under_load,
        victim.kill_ingest,
        victim.kill_while_stopping,
        victim.kill_while_starting,
        victim.finish_ingest,
        victim.check,
    ):
        step()
    assert victim.counts["kills"] >= 3, "the other two may come when all is done already"
