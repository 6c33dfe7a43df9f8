"""The Dockerfile and the compose files, as far as that needs no engine: read by the programs that they are for."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from app.settings import PREFIX, load_settings, settings_table
from tests.conftest import ROOT
from trainer.cli import app as trainer_app
from trainer.update.command import KEY_VARIABLE

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = ROOT / "docker-compose.yml"
BINARIES = Path(sys.executable).parent
INNER = {"postgres", "milvus", "store"}
REPLICAS = {"replica1", "replica2"}
PROFILES = {
    "": {"server", "updater"},
    "train": {"server", "updater", "trainer"},
    "scale": {"server", "updater", "proxy", "watcher"} | REPLICAS | INNER,
    "pgvector": {"server", "updater", "proxy", "watcher", "postgres", "store"} | REPLICAS,
}


def composed(
    *options: str, files: tuple[Path, ...] = (COMPOSE,), variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What Docker Compose makes of the files, with no variables set but these; it must find nothing to remark."""
    command: list[str | Path] = [BINARIES / "docker-compose", "--env-file", "/dev/null"]
    command += [word for file in files for word in ("--file", file)]
    done = subprocess.run(
        [*command, *options, "config", "--format", "json"],
        env=variables or {},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    content: dict[str, Any] = json.loads(done.stdout)
    return content


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    """All services, by name."""
    found: dict[str, dict[str, Any]] = composed("--profile", "*")["services"]
    return found


@pytest.fixture
def ours(services: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The services that run our images."""
    found = {name: service for name, service in services.items() if "build" in service}
    assert set(found) == {"server", "trainer", "updater", "watcher"} | REPLICAS
    return found


def stage(name: str) -> str:
    """The Dockerfile's instructions from this stage's FROM to the next one."""
    (text,) = re.findall(rf"^FROM \S+ AS {name}\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL)
    return str(text)


def compose_commands(text: str) -> list[list[str]]:
    """The words after `docker compose` in each line that has such a command, options of the shell left out."""
    lines = re.findall(r"^(?:# )?(?:\w+=\S+ )*docker compose (.*?)(?:  .*)?$", text, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def test_hadolint_finds_nothing() -> None:
    done = subprocess.run([BINARIES / "hadolint", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_images_are_built_from_what_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    sources = {word for line in copied for word in line.split()[:-1]}
    assert sources >= {"pyproject.toml", "constraints.txt", "app", "embedding", "trainer"}
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source.split('/')[0]}" in ignored
    assert DOCKERFILE.endswith(stage("server")), "what is built without --target"


@pytest.mark.parametrize("target", ["server", "trainer"])
def test_images_run_as_nobody_and_end_with_our_code(target: str) -> None:
    instructions = stage(target)
    assert re.findall(r"^USER (.*)$", instructions, re.MULTILINE) == ["10001:10001"]
    assert re.search(
        r"^RUN pip install .* '\.\[(.*)\]'\nCOPY --from=package /package /venv$", instructions, re.MULTILINE
    )
    assert "RUN" not in instructions.split("COPY --from=package")[1]
    assert ("HEALTHCHECK" in instructions) is (target == "server")


def test_bases_are_pinned(services: dict[str, dict[str, Any]], ours: dict[str, dict[str, Any]]) -> None:
    bases = set(re.findall(r"^FROM (\S+:\S+)", DOCKERFILE, re.MULTILINE))
    images = {service["image"] for name, service in services.items() if name not in ours}
    assert len(bases) == 1
    assert len(images) == 4
    for image in bases | images:
        assert re.fullmatch(r"[a-z0-9/]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9-]+)?", image), image


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles(profile: str) -> None:
    options = ("--profile", profile) if profile else ()
    assert set(composed(*options)["services"]) == PROFILES[profile]


def test_ours_may_do_little(ours: dict[str, dict[str, Any]]) -> None:
    for name, service in ours.items():
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]  # noqa: S108
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service.get("user", "10001") not in ("0", "root")
        assert service["build"]["target"] == ("server" if name in REPLICAS | {"server"} else "trainer")
        assert service["build"]["args"] == {"VARIANT": "cpu"}


def test_others_may_do_no_more_than_they_must(services: dict[str, dict[str, Any]]) -> None:
    assert {name for name in INNER | {"proxy"} if not services[name].get("read_only")} == {"milvus"}
    assert {name for name in INNER | {"proxy"} if services[name].get("cap_drop") != ["ALL"]} == {"milvus"}
    assert services["proxy"]["user"] == "10001:10001"
    assert services["postgres"]["user"] == "postgres"


def test_each_that_stays_tells_its_health(services: dict[str, dict[str, Any]]) -> None:
    by_image = {"server"} | REPLICAS
    for name, service in services.items():
        once = name == "trainer"
        assert service["restart"] == ("no" if once else "unless-stopped")
        assert ("healthcheck" in service) is not (once or name in by_image), name


def test_nothing_is_reached_from_elsewhere(services: dict[str, dict[str, Any]]) -> None:
    assert {name for name, service in services.items() if "ports" in service} == {"server", "proxy"}
    for name in ("server", "proxy"):
        assert [port["host_ip"] for port in services[name]["ports"]] == ["127.0.0.1"]
    assert composed("--profile", "scale")["networks"]["inner"]["internal"] is True
    assert {name for name, service in services.items() if set(service["networks"]) == {"inner"}} == INNER
    assert {name for name, service in services.items() if "inner" in service["networks"]} == INNER | REPLICAS


def test_variables_are_settings(services: dict[str, dict[str, Any]]) -> None:
    known = {name for name, _, _ in settings_table()} | {KEY_VARIABLE}
    for service in services.values():
        assert {name for name in service.get("environment", {}) if name.startswith(PREFIX)} <= known


@pytest.mark.parametrize("index_url", ["", "pgvector"])
def test_replicas_share_everything(index_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"SAMEKIND_INDEX_URL": index_url, "POSTGRES_PASSWORD": "one", "S3_SECRET_KEY": "other"}
    services = composed("--profile", "scale", variables=variables)["services"]
    environments = [services[name]["environment"] for name in sorted(REPLICAS)]
    assert environments[0] == environments[1]
    for name, value in environments[0].items():
        monkeypatch.setenv(name, value)
    settings = load_settings()
    assert settings.index_url == (index_url or "milvus+http://milvus:19530")
    assert settings.database_url == "postgresql://samekind:one@postgres/samekind"
    assert "one" in services["postgres"]["environment"].values()
    assert "other" in environments[0].values()
    assert "other" in services["store"]["environment"].values()
    bucket = settings.blobs_url.removeprefix("s3://").split("/")[0]
    assert f"-bucket={bucket}" in services["store"]["command"]
    limit = int(services["postgres"]["command"][-1].removeprefix("max_connections="))
    assert limit > len(REPLICAS) * settings.database_connections + 3  # three are kept for superusers
    assert {volume["source"] for name in REPLICAS for volume in services[name]["volumes"]} == REPLICAS


def test_mounted_files_exist(services: dict[str, dict[str, Any]]) -> None:
    sources = {
        Path(volume["source"])
        for service in services.values()
        for volume in service.get("volumes", [])
        if volume["type"] == "bind"
    }
    assert {source.name for source in sources} == {"models", "images", "Caddyfile", "milvus-etcd.yaml"}
    assert all(source.exists() for source in sources if source.name != "images")  # which IMAGES is for


@pytest.mark.parametrize(("name", "server"), [("updater", "server"), ("watcher", "proxy")])
def test_trainers_ask_a_service_that_answers(name: str, server: str, services: dict[str, dict[str, Any]]) -> None:
    group: Any = get_command(trainer_app)
    command, *options = services[name]["command"]
    asked = group.commands[command].make_context(command, options).params
    assert (asked["watch"], asked["server"]) == (True, f"http://{server}:8000")
    assert server in services[name]["depends_on"]
    assert f"'{server}', 8000" in services[name]["healthcheck"]["test"][-1]
    who_hears = "replica1" if server == "proxy" else server
    assert server in services[who_hears]["environment"]["SAMEKIND_ALLOWED_HOSTS"].split(",")


def test_gpus() -> None:
    files = (COMPOSE, ROOT / "deploy" / "cuda.yml")
    services = composed("--profile", "*", files=files, variables={"VARIANT": "cuda"})["services"]
    for name, service in services.items():
        devices = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices")
        assert (devices is not None) is ("build" in service), name
        if "build" in service:
            assert service["build"]["args"] == {"VARIANT": "cuda"}
            assert service["image"].endswith(":cuda")
    assert re.search(r"^ +cuda\) set --", stage("core"), re.MULTILINE)


@pytest.mark.parametrize("file", ["README.md", "docker-compose.yml", "deploy/cuda.yml"])
def test_commands_that_are_told_exist(file: str) -> None:
    found = compose_commands((ROOT / file).read_text(encoding="utf-8"))
    assert found
    for words in found:
        (position,) = [index for index, word in enumerate(words) if word in ("up", "run")]
        named = [word for word in words[position + 1 :] if not word.startswith("-")]
        asked = named[:1] if words[position] == "run" else named
        options = words[:position] if words[position] == "up" else ["--profile", "*"]
        content = composed(*[str(ROOT / word) if word.endswith(".yml") else word for word in options], files=())
        assert set(asked) <= set(content["services"]), words
