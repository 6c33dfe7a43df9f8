"""The trainer that the service starts itself: real processes, which are cancelled, killed, stopped and left alone."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.client import Forbidden, Job, Samekind, Unauthenticated, Upload
from app.learning.beside import is_installed
from app.listen import bound_sockets, own_url
from tests.app.jobs import TIMEOUT_S, wait_for
from tests.app.test_serve import serving
from tests.trainer.updates import noise

PICTURES = 12


@dataclass
class Service:
    process: "subprocess.Popen[str]"
    client: Samekind
    log: Path

    @property
    def trainers(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in children if each.is_running() and "trainer" in each.cmdline()]


@contextmanager
def served(data: Path) -> Iterator[Service]:
    with serving(data, SAMEKIND_TRAINER="auto") as (process, http), Samekind(str(http.base_url)) as client:
        yield Service(process, client, data.with_suffix(".log"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside") / "data"


@pytest.fixture(scope="module")
def service(data: Path) -> Iterator[Service]:
    """With pictures of two categories. Each test goes on from what the one before it left."""
    with served(data) as service:
        kinds = ("cups", "hats")
        uploads = [Upload(noise(seed), id=f"i{seed}", category=kinds[seed % 2]) for seed in range(PICTURES)]
        assert all(item.problem is None for item in service.client.add_images(uploads))
        yield service


def running(service: Service) -> tuple[Job, psutil.Process]:
    """A job that a process has begun, and that process."""
    job = service.client.learn()
    wait_for(lambda: service.client.job(job.id).phase is not None)
    (trainer,) = service.trainers
    return job, trainer


def gone(trainer: psutil.Process) -> bool:
    return not trainer.is_running() or trainer.status() == psutil.STATUS_ZOMBIE


def test_a_killed_trainer_ends_its_job_in_words(service: Service) -> None:
    job, trainer = running(service)
    trainer.kill()
    over = service.client.wait_for_job(job.id, timeout=TIMEOUT_S)
    assert over.state == "failed"
    assert "killed, as the system does for want of memory" in (over.detail or "")
    assert service.client.ready().checks["database"].ok


def test_a_cancelled_job_ends_its_process_and_nothing_is_activated(service: Service) -> None:
    job, trainer = running(service)
    assert service.client.cancel_job(job.id).state == "cancelled"
    wait_for(lambda: gone(trainer))
    assert service.client.job(job.id).state == "cancelled"
    assert not service.client.stats().trained


def test_the_next_one_works_and_its_key_is_good_for_it_alone(service: Service) -> None:
    """Also after all that went wrong before; asked for twice at once it is one."""
    with ThreadPoolExecutor(4) as pool:
        (job_id,) = {job.id for job in pool.map(lambda _: service.client.learn(), range(4))}
    wait_for(lambda: service.client.job(job_id).phase is not None)
    (trainer,) = service.trainers
    variables = trainer.environ()
    assert variables["SAMEKIND_KEY"] not in " ".join(trainer.cmdline())
    assert {name for name in variables if name.startswith("SAMEKIND_")} == {"SAMEKIND_KEY", "SAMEKIND_LEASE"}
    assert trainer.nice() == 10
    assert os.getpgid(trainer.pid) == trainer.pid
    with Samekind(str(service.client._connection), variables["SAMEKIND_KEY"]) as own:
        assert own.who_am_i().name == f"learn job {job_id}"
        with pytest.raises(Forbidden):
            own.delete_image("i0")
        phases: set[str | None] = set()
        over = service.client.wait_for_job(
            job_id, poll=0.1, timeout=TIMEOUT_S, progress=lambda job: phases.add(job.phase)
        )
        assert (over.state, over.done, over.total) == ("done", 1000, 1000), over.detail
        assert over.result is not None
        assert over.result.taken
        assert service.client.stats().model == over.result.model
        assert "starting" in phases
        assert any(phase and phase.startswith("validation") for phase in phases)
        wait_for(lambda: gone(trainer))
        with pytest.raises(Unauthenticated):
            wait_for(lambda: own.stats().images < 0)
    assert not service.client.who_am_i().keys_needed
    log = service.log.read_text()
    assert variables["SAMEKIND_KEY"] not in log
    assert f"The trainer of job {job_id}" in log


def test_a_stop_ends_the_process_and_the_next_start_does_the_job(service: Service, data: Path) -> None:
    """And a killed service leaves a process that ends by itself; the start after that begins anew."""
    service.client.change_image("i0", category="hats")
    service.client.give_feedback([("i0", "i1", True)])
    job, trainer = running(service)
    begin = time.monotonic()
    service.process.terminate()
    assert service.process.wait(TIMEOUT_S) == 0
    assert time.monotonic() < begin + 20
    assert gone(trainer)
    with ExitStack() as stack:
        first = stack.enter_context(served(data))
        wait_for(lambda: first.client.job(job.id).phase is not None)
        (orphan,) = first.trainers
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        second = stack.enter_context(served(data))
        over = second.client.wait_for_job(job.id, timeout=TIMEOUT_S)
        assert over.state == "done", over.detail
        wait_for(lambda: gone(orphan))


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "127.0.0.1")],  # noqa: S104
)
def test_where_the_trainer_goes(host: str, expected: str) -> None:
    with bound_sockets(host, 0) as sockets:
        port = sockets[0].getsockname()[1]
        url = own_url(sockets)
        assert url in (f"http://{expected}:{port}", *(f"http://[::1]:{each.getsockname()[1]}" for each in sockets))


def test_it_is_installed_here() -> None:
    assert is_installed()
