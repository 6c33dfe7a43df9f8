"""The readers-writer lock where a wait is broken off; `test_vector_index` has it at work."""

import threading

import pytest

from app.index.locks import ReadersWriterLock

TIMEOUT_S = 30


class Breakable(threading.Condition):
    """A condition in which one thread's wait can be broken off, as Ctrl-C does it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = threading.Semaphore(0)
        self.broken: threading.Thread | None = None

    def wait(self, timeout: float | None = None) -> bool:
        self.waiting.release()
        woken = super().wait(timeout)
        if threading.current_thread() is self.broken:
            raise InterruptedError
        return woken

    def break_off(self, thread: threading.Thread) -> None:
        """Wake this one and nobody else: it has waited longest."""
        with self:
            self.broken = thread
            self.notify()


def test_readers_behind_a_writer_that_gave_up_go_on() -> None:
    lock = ReadersWriterLock()
    condition = lock._condition = Breakable()
    read = threading.Event()

    def write() -> None:
        with pytest.raises(InterruptedError), lock.writing():
            pass

    def read_behind() -> None:
        with lock.reading():
            read.set()

    writer, reader = threading.Thread(target=write), threading.Thread(target=read_behind, daemon=True)
    with lock.reading():
        for thread in (writer, reader):
            thread.start()
            assert condition.waiting.acquire(timeout=TIMEOUT_S)
        condition.break_off(writer)
        writer.join(TIMEOUT_S)
        assert read.wait(5)
    reader.join(TIMEOUT_S)
    with lock.writing():
        pass
