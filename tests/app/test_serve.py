"""The real program in a process of its own: started, killed, started again, stopped, refused."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Thread

import httpx
import pytest
from sqlalchemy import create_engine, text

from app.errors import CannotStart
from app.listen import bound_sockets
from app.settings import settings_table
from embedding import __version__
from embedding.model_file import Model
from tests.app.conftest import Draw, Start

ROOT = Path(__file__).parents[2]
START_TIMEOUT_S = 120  # on a machine whose cores are busy
COMMAND = [sys.executable, "-W", "error", "-m", "app.cli"]

Save = Callable[[Model], Path]


@contextmanager
def serving(
    data: Path, *options: str, prefix: Sequence[str] = (), **variables: str
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """`samekind serve` on a free port, until the block ends; killed if it still runs then. prefix: what starts it."""
    # Whoever tests something else wants no learning beside it.
    environment = {"SAMEKIND_TRAINER": "remote"} | os.environ | variables
    log = data.with_suffix(".log")
    with log.open("w") as file:
        command = [*prefix, *COMMAND, "serve", "--port", "0", "--data-dir", str(data), *options]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=file, stdout=file, text=True)
    try:
        with httpx.Client(base_url=address(process, log), timeout=60) as client:
            yield process, client
    finally:
        process.kill()
        process.wait()


def run(*arguments: str, prefix: Sequence[str] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | variables
    return subprocess.run(
        [*prefix, *COMMAND, *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        timeout=START_TIMEOUT_S,
        check=False,
    )


def address(process: subprocess.Popen[str], log: Path) -> str:
    """Where it listens, as its log says."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"running on (http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"The service did not start:\n{log.read_text()}")


def test_what_was_acknowledged_survives_sigkill_at_any_instant(
    tmp_path: Path, draw: Draw, model: Model, save: Save
) -> None:
    data = tmp_path / "data"
    acknowledged: list[int] = []
    with serving(data, "--model", str(save(model))) as (process, client):
        adding = Thread(target=_add_until_it_dies, args=(client, draw, acknowledged))
        adding.start()
        query_id = client.post("/v1/search", files={"file": draw(0)}).json()["query_id"]
        _wait_for(lambda: len(acknowledged) >= 10)
        pair = {"left": "i0", "right": query_id, "similar": True}
        assert client.post("/v1/feedback", json={"pairs": [pair]}).json()["recorded"] == 1
        assert client.delete("/v1/images/i1").status_code == 204
        process.send_signal(signal.SIGKILL)  # in the midst of an addition
        adding.join()
    with serving(data) as (process, client):  # the model was acknowledged too
        ids = [image["id"] for image in client.get("/v1/images").json()["images"]]
        assert {f"i{seed}" for seed in acknowledged} - {"i1"} <= set(ids)
        assert "i1" not in ids
        assert query_id in client.get("/v1/feedback").text
        assert all(_is_whole(client, int(image_id[1:]), draw) for image_id in ids)
        process.terminate()
        assert process.wait(START_TIMEOUT_S) == 0
    assert not (data / "samekind.pid").exists()


def _add_until_it_dies(client: httpx.Client, draw: Draw, acknowledged: list[int]) -> None:
    for seed in count():
        try:
            response = client.post("/v1/images", files={"file": draw(seed)}, data={"id": f"i{seed}"})
        except httpx.TransportError:
            return
        if response.status_code == 201:
            acknowledged.append(seed)


def _is_whole(client: httpx.Client, seed: int, draw: Draw) -> bool:
    """Its file is there byte for byte, and a search finds it at distance 0: the file, the row and the index agree."""
    assert client.get(f"/v1/images/i{seed}/file").content == draw(seed)
    (nearest,) = client.post("/v1/search", files={"file": draw(seed)}, data={"k": "1"}).json()["neighbours"]
    return (nearest["id"], nearest["squared_distance"]) == (f"i{seed}", 0.0)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_second_process_is_refused_with_the_first_ones_id(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (process, client):
        refused = run("serve", "--data-dir", str(tmp_path / "data"), "--port", "0")
        assert refused.returncode == 2
        assert refused.stderr.startswith("samekind: ")
        assert f"process {process.pid}" in refused.stderr
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("name", ["50% of a?b#c", "a::b", "~ %2F&x=1", "memory:"])
def test_everything_lies_in_the_data_folder_whatever_its_name(
    tmp_path: Path, draw: Draw, name: str, start: Start
) -> None:
    data = tmp_path / name
    with start(data_dir=data) as client:
        added = client.post("/v1/images", files={"file": draw(1)}).json()
        assert client.get(added["links"]["file"]).content == draw(1)
    assert (data / "samekind.db").is_file()
    assert (data / "blobs" / added["sha256"][:2] / added["sha256"]).is_file()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_headers_have_a_limit(tmp_path: Path) -> None:
    with serving(tmp_path / "a?b%20c") as (_process, client):
        assert client.base_url.port
        with socket.create_connection((client.base_url.host, client.base_url.port), timeout=60) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
            sent = _send_until_refused(connection, most=50 * 2**20)
        assert sent < 20 * 2**20  # what the kernel's buffers hold, far above the 64 KiB that are kept
        assert client.get("/healthz").status_code == 200


def _send_until_refused(connection: socket.socket, most: int) -> int:
    sent = 0
    try:
        while sent < most:
            sent += connection.send(b"x" * 65_536)
    except OSError:
        pass
    return sent


def test_a_port_in_use_is_said_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        refused = run("serve", "--data-dir", str(tmp_path / "data"), "--port", port)
    assert refused.returncode == 2
    assert re.fullmatch(
        rf"samekind: Cannot listen on 127\.0\.0\.1 port {port} .*choose another SAMEKIND_PORT\.\n", refused.stderr
    )
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("host", "message"), [("192.0.2.1", "no address of this machine"), ("no.such.host.invalid", "has no address")]
)
def test_a_host_that_is_not_ours(host: str, message: str) -> None:
    with pytest.raises(CannotStart, match=rf"{message}.*SAMEKIND_HOST"), bound_sockets(host, 0):
        pass


def test_every_address_of_a_host_is_bound_and_freed() -> None:
    with bound_sockets("127.0.0.1", 0) as (first,):
        port = first.getsockname()[1]
        first.listen()
        with pytest.raises(CannotStart, match="another program"), bound_sockets("127.0.0.1", port):
            pass
    with bound_sockets("127.0.0.1", port):
        pass


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        pytest.param(["--port", "70000"], {}, "70000", id="bad option"),
        pytest.param([], {"SAMEKIND_PORTT": "1"}, "did you mean SAMEKIND_PORT", id="unknown variable"),
        pytest.param(["--host", "0.0.0.0"], {}, "samekind keys create", id="open to all"),  # noqa: S104
        pytest.param([], {"SAMEKIND_BLOBS_URL": "zip://x"}, "SAMEKIND_BLOBS_URL", id="no blob store"),
        pytest.param(["--model", "no/such/file"], {}, "no/such/file", id="no model file"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(
    tmp_path: Path, options: list[str], variables: dict[str, str], message: str
) -> None:
    refused = run("serve", "--data-dir", str(tmp_path), *options, **variables)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / 'samekind.db'}")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    engine.dispose()
    refused = run("serve", "--data-dir", str(tmp_path))
    assert (refused.returncode, "9999" in refused.stderr) == (2, True)


def test_help_settings_and_version_answer_without_heavy_imports() -> None:
    code = (
        "import sys, app.cli\n"
        "heavy = {'torch', 'faiss', 'fastapi', 'sqlalchemy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
    assert run("version").stdout.strip() == __version__
    assert "serve" in run("--help").stdout
    printed = run("settings").stdout
    assert all(
        f"| {variable} | {default} | {help_text} |" in printed for variable, default, help_text in settings_table()
    )


def test_faiss_gets_one_thread_and_torch_its_own() -> None:
    code = (
        "import app.cli, os, faiss, torch\n"
        "from embedding.process import use_threads\n"
        "use_threads(2)\n"
        "import threading\n"
        "threading.Thread(target=lambda: print(os.environ['OMP_NUM_THREADS'], faiss.omp_get_max_threads())).start()\n"
    )
    completed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, text=True, capture_output=True)
    assert completed.stdout.split() == ["1", "1"], completed
