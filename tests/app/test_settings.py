"""Settings: from variables, checked, explained; and the folder that one process owns."""

import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app.errors import BadSettings, CannotStart, DataFolderInUse
from app.parts import open_collection
from app.settings import Settings, load_settings, settings_table
from app.store.lock import own_data_folder
from embedding.backbone import DEFAULT_BACKBONE


def test_variables_are_read_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMEKIND_PORT", "8001")
    monkeypatch.setenv("SAMEKIND_MAX_K", "7")
    monkeypatch.setenv("SAMEKIND_MODEL", "")  # as compose files leave it
    monkeypatch.setenv("SAMEKIND_KEY", "sk_1")  # for the trainer
    settings = load_settings(port=8002, data_dir=None)
    assert (settings.port, settings.max_k, settings.model, settings.data_dir) == (8002, 7, None, Path("samekind-data"))


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        pytest.param("SAMEKIND_PROT", "1", "SAMEKIND_PROT is no setting.*did you mean SAMEKIND_PORT", id="typo"),
        pytest.param("SAMEKIND_ZZZZ", "1", "samekind settings", id="unlike any"),
        pytest.param("SAMEKIND_PORT", "70000", "SAMEKIND_PORT.*70000", id="out of range"),
        pytest.param("SAMEKIND_MAX_K", "many", "SAMEKIND_MAX_K.*'many'", id="no number"),
        pytest.param("SAMEKIND_THREADS", "257", "SAMEKIND_THREADS.*256", id="too many threads"),
        pytest.param("SAMEKIND_QUERY_RETENTION_S", "315360001", "SAMEKIND_QUERY_RETENTION_S", id="over ten years"),
        pytest.param(
            "SAMEKIND_MAX_UPLOAD_BYTES", "1023", "SAMEKIND_MAX_UPLOAD_BYTES.*1024", id="no room for a picture"
        ),
        pytest.param("SAMEKIND_ALLOWED_HOSTS", "a.example:80", "SAMEKIND_ALLOWED_HOSTS.*without.*port", id="port"),
        pytest.param("SAMEKIND_ALLOWED_HOSTS", "http://a.example", "http://a.example is no host name", id="URL"),
        pytest.param("SAMEKIND_ALLOWED_HOSTS", "*.example", r"\*.example is no host name", id="pattern"),
    ],
)
def test_what_stops_the_start(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(BadSettings, match=message):
        load_settings()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_word_until_there_is_a_key(host: str) -> None:
    assert load_settings(host=host).anonymous == "while_no_key"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org", "192.0.2.1"])  # noqa: S104
def test_elsewhere_nobody_is_let_in_without_a_key_unless_that_is_meant(host: str) -> None:
    assert load_settings(host=host).anonymous == "never"
    assert load_settings(host=host, allow_anonymous=True).anonymous == "always"


def test_every_setting_is_in_the_table_with_help() -> None:
    rows = settings_table()
    assert [row[0] for row in rows] == [f"SAMEKIND_{name.upper()}" for name in Settings.model_fields]
    assert all(default and help_text.endswith(".") for _, default, help_text in rows)
    assert ("SAMEKIND_PORT", "8000", "Port to listen on; 0 takes a free one.") in rows


def test_the_default_backbone_is_the_one_of_the_package() -> None:
    assert Settings().backbone == DEFAULT_BACKBONE


def test_everything_lies_in_the_data_folder_by_default(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert settings.database == tmp_path / "samekind.db"
    assert settings.blobs == tmp_path / "blobs"


def test_the_outermost_settings_start(tmp_path: Path) -> None:
    with open_collection(
        Settings(data_dir=tmp_path, max_upload_bytes=1024, query_retention_s=10 * 365 * 86400)
    ) as opened:
        assert opened.repository.counts().images == 0


def test_one_owner_at_a_time_named_by_process_id(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    with own_data_folder(folder):
        with (
            pytest.raises(DataFolderInUse, match=rf"on demand is in use by process {os.getpid()}"),
            own_data_folder(folder),
        ):
            pass
        assert (folder / "samekind.pid").exists()
    with own_data_folder(folder):
        pass


def test_one_database_has_one_owner_whatever_the_data_folder(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/shared.db"
    first, second = (Settings(data_dir=tmp_path / name, database_url=url) for name in "ab")
    with (
        open_collection(first),
        pytest.raises(DataFolderInUse, match=rf"shared\.db is in use by process {os.getpid()}"),
    ):
        open_collection(second).__enter__()
    assert not (tmp_path / "shared.db.pid").exists()
    with open_collection(second):
        pass


def test_another_database_than_those_two_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url="mysql://localhost/x")
    with pytest.raises(BadSettings, match=r"only SQLite .* and PostgreSQL"), open_collection(settings):
        pass


@pytest.mark.parametrize(
    ("settings", "hosts"),
    [
        ({}, {"localhost", "127.0.0.1", "::1"}),
        ({"host": "127.8.8.8"}, {"localhost", "127.0.0.1", "::1", "127.8.8.8"}),
        ({"host": "NAS.lan", "allow_anonymous": True}, {"localhost", "127.0.0.1", "::1", "nas.lan"}),
        ({"host": "0.0.0.0", "allow_anonymous": True}, {"*"}),  # noqa: S104
        ({"host": "::", "allow_anonymous": True}, {"*"}),
        ({"allowed_hosts": "Photos.example, [::1],10.0.0.1,"}, {"photos.example", "::1", "10.0.0.1"}),
        ({"allowed_hosts": "fe80::1"}, {"fe80::1"}),
        ({"allowed_hosts": "*"}, {"*"}),
    ],
)
def test_hosts_that_requests_may_name(settings: dict[str, Any], hosts: set[str]) -> None:
    assert Settings(**settings).hosts == hosts


def test_as_many_pixels_as_pillow_opens() -> None:
    assert Image.MAX_IMAGE_PIXELS is not None
    most = 2 * Image.MAX_IMAGE_PIXELS
    assert load_settings(max_pixels=most).max_pixels == most
    with pytest.raises(BadSettings, match=f"SAMEKIND_MAX_PIXELS.*{most}"):
        load_settings(max_pixels=most + 1)


def test_a_data_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotStart, match="file"), own_data_folder(tmp_path / "file"):
        pass
