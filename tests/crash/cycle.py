"""A data folder whose service and whose ingest are killed again and again."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from embedding.backbone import load_backbone
from embedding.model_file import save_model
from tests.app.conftest import make_model
from tests.crash.collection import INGESTED, category_of, folder_slots, make_ledger, write_folder
from tests.crash.ledger import ANY_ID, Stored
from tests.crash.program import Program, Violation
from tests.crash.verify import settle, verify_files, verify_images, verify_index, wait_for_sweep
from tests.crash.workload import Load, new_client

__all__ = ["Victim"]

_START_S = 6.0  # about as long as a start takes, for those that are killed within it
_MAX_ANSWERS, _MAX_LOAD_S = 120, 3.0  # of a round, whichever comes first
_MORE_LOAD_S = 0.1  # then: the kill comes between two answers or within one
_INGEST_S = 1.2  # about as long as the folder takes
_STOP_S = 1.5  # about as long as a clean stop takes
_FINISHED = 0.7  # of the ingests that were killed: the same command again, before anything else happens
_OFTEN = "1"  # seconds; housekeeping is in the midst of things when the kill comes


class Victim:
    """What is killed, and what it acknowledged. Every method ends with nothing running."""

    def __init__(self, work: Path, seed: int):
        work.mkdir(parents=True, exist_ok=True)
        self._work = work
        self._data = work / "data"
        self._rng = np.random.default_rng(seed)
        self._ledger = make_ledger()
        self._model = work / "model.safetensors"
        save_model(make_model(load_backbone(), seed=1), self._model)
        write_folder(self._ledger, work / "pictures")
        self.counts: Counter[str] = Counter()

    def step(self) -> str:
        """One of the ways to be killed, at random; returns what was done. Raises: Violation."""
        ways = [self.kill_under_load] * 5 + [self.kill_while_starting, self.kill_while_stopping, self.kill_ingest]
        done = ways[int(self._rng.integers(len(ways)))]()
        if done.startswith("ingest") and self._rng.random() < _FINISHED:
            done = f"{done}; {self.finish_ingest()}"
        return done

    def kill_under_load(self) -> str:
        """Start, compare, then SIGKILL in the midst of requests."""
        with self._serving() as (program, url):
            self._compare(url)
            answers = self._load(url, lambda: self._kill(program))
        return f"killed after {answers} answers"

    def kill_while_starting(self) -> str:
        """SIGKILL before the service answers, or a moment later."""
        start_s = self._rng.uniform(0, _START_S)
        with self._program("serve", "--port", "0", "--model", str(self._model)) as program:
            time.sleep(start_s)
            self._kill(program)
        return f"killed {start_s:.2f} s after the start of the process"

    def kill_while_stopping(self) -> str:
        """SIGTERM in the midst of requests, and SIGKILL before it has come to its end, or just after."""
        stop_s = self._rng.uniform(0, _STOP_S)

        def stop_and_kill() -> None:
            program.ask_to_stop()
            time.sleep(stop_s)
            self._kill(program, may_have_ended=True)

        with self._serving() as (program, url):
            self._compare(url)
            answers = self._load(url, stop_and_kill)
        return f"killed {stop_s:.2f} s after SIGTERM and {answers} answers"

    def kill_ingest(self) -> str:
        """SIGKILL while a folder is added."""
        ingest_s = self._rng.uniform(0, _INGEST_S)
        self._intend_folder()
        with self._program("ingest", str(self._work / "pictures"), *self._ingest_options()) as program:
            program.wait_for(r"(ingest: +0%)")
            time.sleep(ingest_s)
            self._kill(program, may_have_ended=True)
        return f"ingest killed after {ingest_s:.2f} s"

    def finish_ingest(self) -> str:
        """The same command again, to its end: each picture is there, and once."""
        self._intend_folder()
        with self._program("ingest", str(self._work / "pictures"), *self._ingest_options()) as program:
            said = program.wait_for(r"(Added .*)")
            code = program.finished()
        added, there = (int(said.split(word)[1].split(",")[0]) for word in ("Added ", "there already "))
        if (code, added + there, "could not be added 0" in said) != (0, INGESTED, True):
            raise Violation(f"ingest ended with {code} and said: {said}")
        for slot in folder_slots(self._ledger):
            self._ledger.acknowledge_ingest(slot, self._ingested(slot.name))
        return f"ingest done: {said}"

    def check(self) -> str:
        """Start, compare everything, stop cleanly; then `samekind check` finds nothing."""
        with self._serving() as (program, url):
            self._compare(url)
            wait_for_sweep(self._data)
            program.ask_to_stop()
            if code := program.finished():
                raise Violation(f"stopped cleanly, it ended with {code}:\n{program.output}")
        left_over = [path.name for path in self._data.glob(".*.partial")]
        with self._program("check") as program:
            code = program.finished()
        if code or "Nothing is wrong." not in program.output or left_over:
            raise Violation(f"check ended with {code}, {left_over} lie in the data folder:\n{program.output}")
        self.counts["checks"] += 1
        return f"checked: {len(self._ledger.images)} images, {self._ledger.verdict_count} verdicts"

    def _compare(self, url: str) -> None:
        with new_client(url) as client:
            settle(self._ledger, client)
            verify_files(self._ledger, self._data)
            verify_images(self._ledger, client, self._rng)
            verify_index(self._ledger, client, self._rng)

    def _load(self, url: str, end: Callable[[], None]) -> int:
        """Let clients at it, then end it at a random instant; returns how many answers there were."""
        with Load(self._ledger, url, self._rng) as load:
            load.wait_for_answers(int(self._rng.integers(_MAX_ANSWERS)), _MAX_LOAD_S)
            time.sleep(self._rng.uniform(0, _MORE_LOAD_S))
            end()
        load.check()
        self.counts["answers"] += load.answers
        return load.answers

    def _kill(self, program: Program, *, may_have_ended: bool = False) -> None:
        if program.kill():
            self.counts["kills"] += 1
        elif not may_have_ended:
            raise Violation(f"it had ended by itself before it was killed:\n{program.output}")

    @contextmanager
    def _serving(self) -> Iterator[tuple[Program, str]]:
        """The service and its URL, when it answers."""
        often = {"housekeeping_interval_s": _OFTEN} if self._rng.random() < 0.5 else {}
        with self._program("serve", "--port", "0", "--model", str(self._model), **often) as program:
            yield program, program.wait_for(r"running on (http://\S+)")

    @contextmanager
    def _program(self, command: str, *arguments: str, **settings: str) -> Iterator[Program]:
        """Killed if it still runs when the block ends; it must have said nothing of trouble."""
        log = self._work / f"{command}.log"
        program = Program(log, command, *arguments, "--data-dir", str(self._data), threads="1", **settings)
        try:
            yield program
        finally:
            program.kill()
        program.check_log()

    def _ingest_options(self) -> list[str]:
        return ["--failures", str(self._work / "failures.csv"), "--model", str(self._model)]

    def _intend_folder(self) -> None:
        """Also where a deletion is in flight: if it was done, the picture is added anew."""
        for slot in folder_slots(self._ledger):
            if slot.may_be_empty:
                self._ledger.intend(slot, self._ingested(slot.name))

    def _ingested(self, name: str) -> Stored:
        slot = self._ledger.slots[name]
        return Stored(ANY_ID, slot.pictures[0].sha256, category_of(slot), {})
