"""Keys: made, kept as checksums, listed, revoked; by services, tables and the real command line, on both engines."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from sqlalchemy import text

from app.cli.keys import create
from app.errors import BadField, BadSettings, DataFolderInUse, Forbidden, OlderDatabase, Unauthenticated, UnknownKey
from app.ports import Repository
from app.records import Anonymous, KeyRecord, Role
from app.secrecy import masked
from app.services.keys import Caller, check_role, check_strangers, create_key, identify, revoke_key
from app.settings import Settings
from app.store.database import Database, open_database
from app.store.opened import open_or_make_store, open_store, own_store
from app.store.repository import SqlRepository
from app.store.transfer import copy_rows
from tests.app.conftest import Start
from tests.app.test_serve import run
from tests.postgresql import Server

NOW = datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
KEY = KeyRecord("00000001", "alice", "writer", NOW, revoked=None)
ROLES: tuple[Role, ...] = get_args(Role)


class TestTable:
    def test_a_key_is_found_by_its_checksum_alone(self, repository: Repository) -> None:
        repository.keys.add(KEY, "a" * 64)
        assert repository.keys.with_sha256("a" * 64) == KEY
        assert repository.keys.with_sha256("b" * 64) is None

    def test_all_oldest_first(self, repository: Repository) -> None:
        assert repository.keys.all() == []
        newer = replace(KEY, id="00000000", created=NOW + timedelta(seconds=1))
        for number, key in enumerate((newer, KEY)):
            repository.keys.add(key, f"{number:064x}")
        assert repository.keys.all() == [KEY, newer]

    def test_a_revoked_one_stays_with_the_time_of_its_first_revocation(self, repository: Repository) -> None:
        assert not repository.keys.any()
        repository.keys.add(KEY, "a" * 64)
        revoked = replace(KEY, revoked=NOW + timedelta(hours=1))
        for hours in (1, 2):
            assert repository.keys.revoke(KEY.id, NOW + timedelta(hours=hours)) == revoked
        assert repository.keys.with_sha256("a" * 64) == revoked
        assert repository.keys.any()

    @pytest.mark.parametrize("key_id", ["00000002", "", "a\0b", "x" * 1000, "ä", "%"])
    def test_no_such_key(self, repository: Repository, key_id: str) -> None:
        repository.keys.add(KEY, "a" * 64)
        with pytest.raises(UnknownKey, match="samekind keys list"):
            repository.keys.revoke(key_id, NOW)
        assert repository.keys.all() == [KEY]


class TestService:
    def test_what_is_kept_is_not_the_key(self, repository: Repository, database: Database) -> None:
        key = create_key(repository.keys, "alice", "writer")
        assert re.fullmatch(rf"sk_{key.record.id}_[A-Za-z0-9_-]{{43}}", key.text)
        with database.reading() as connection:
            row = str(connection.execute(text("SELECT * FROM keys")).one())
        secret = key.text.rpartition(f"{key.record.id}_")[2]
        assert key.record.id in row
        assert secret not in row + repr(key) + str(key)

    def test_whoever_shows_it_is_known_until_it_is_revoked(self, repository: Repository) -> None:
        first, second = (create_key(repository.keys, "alice", role) for role in ("reader", "admin"))
        assert identify(repository.keys, first.text, "never") == Caller(first.record.id, "reader", "alice")
        assert identify(repository.keys, second.text, "never") == Caller(second.record.id, "admin", "alice")
        revoked, left = revoke_key(repository.keys, first.record.id)
        assert (revoked.id, left) == (first.record.id, 1)
        with pytest.raises(Unauthenticated, match=f"{first.record.id} was revoked"):
            identify(repository.keys, first.text, "always")
        assert identify(repository.keys, second.text, "never").role == "admin"

    def test_what_is_nearly_a_key_is_none(self, repository: Repository) -> None:
        key = create_key(repository.keys, "alice", "admin").text
        changed = key[:-1] + ("A" if key[-1] != "A" else "B")
        for wrong in ("", changed, key[:-1], f"{key}A", key.upper(), f" {key}", f"{key}\n", "ä" * 55, "x" * 10**6):
            with pytest.raises(Unauthenticated, match="no key of this service") as refused:
                identify(repository.keys, wrong, "always")
            assert wrong == "" or wrong not in str(refused.value)

    def test_who_gets_in_without_a_key(self, repository: Repository) -> None:
        def gets_in() -> list[Anonymous]:
            return [anonymous for anonymous in get_args(Anonymous) if _is_let_in(repository, anonymous)]

        assert gets_in() == ["always", "while_no_key"]
        key = create_key(repository.keys, "alice", "reader")
        assert gets_in() == ["always"]
        revoke_key(repository.keys, key.record.id)
        assert gets_in() == ["always"]

    def test_each_role_may_do_what_those_before_it_may(self) -> None:
        for rank, role in enumerate(ROLES):
            for needed in ROLES[: rank + 1]:
                check_role(Caller("k", role), needed)
            for needed in ROLES[rank + 1 :]:
                with pytest.raises(Forbidden, match=f"role {needed}.* k is a {role}'s"):
                    check_role(Caller("k", role), needed)

    @pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "a\0b", "\ud800"])
    def test_names_that_cannot_be_kept(self, repository: Repository, name: str) -> None:
        with pytest.raises(BadField):
            create_key(repository.keys, name, "admin")
        assert not repository.keys.any()

    def test_strangers_may_not_come_before_there_is_a_key(self, repository: Repository) -> None:
        with pytest.raises(BadSettings, match=r"SAMEKIND_HOST.*samekind keys create.*SAMEKIND_ALLOW_ANONYMOUS"):
            check_strangers(repository.keys, "192.0.2.1", "never")
        for anonymous in ("always", "while_no_key"):
            check_strangers(repository.keys, "192.0.2.1", anonymous)
        create_key(repository.keys, "alice", "reader")
        check_strangers(repository.keys, "192.0.2.1", "never")


def test_a_backup_knows_the_keys_of_its_time(repository: Repository, database: Database, tmp_path: Path) -> None:
    good, revoked = (create_key(repository.keys, name, "writer") for name in ("good", "revoked"))
    revoke_key(repository.keys, revoked.record.id)
    with open_database(tmp_path / "backup.db") as copy:
        copy_rows(database, copy)
        restored = SqlRepository(copy)
        assert restored.keys.all() == repository.keys.all()
        assert identify(restored.keys, good.text, "never") == Caller(good.record.id, "writer", "good")
        with pytest.raises(Unauthenticated, match="revoked"):
            identify(restored.keys, revoked.text, "never")


def _is_let_in(repository: Repository, anonymous: Anonymous) -> bool:
    try:
        return identify(repository.keys, None, anonymous) == Caller(None, "admin")
    except Unauthenticated:
        return False


def test_a_masked_text_keeps_ids_and_loses_secrets() -> None:
    secret = "A-_b" * 11
    assert (
        masked(f"?k=sk_0123abcd_{secret}&x=1 sk_0123abcd_{secret[:9]}..") == "?k=sk_0123abcd_...&x=1 sk_0123abcd_....."
    )
    assert masked("sk_, sk_0123abcd and ask_me stay") == "sk_, sk_0123abcd and ask_me stay"


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_the_command_line_beside_a_running_service(
    tmp_path: Path, start: Start, engine: str, request: pytest.FixtureRequest
) -> None:
    data, variables = str(tmp_path / "data"), {}
    if engine == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        variables = {"SAMEKIND_DATABASE_URL": server.new_database()}
    with start(model=None, database_url=variables.get("SAMEKIND_DATABASE_URL", "")) as client:
        assert client.get("/v1/stats").status_code == 200
        made = run("keys", "create", "--name", "alice", "--role", "reader", "--data-dir", data, **variables)
        assert made.returncode == 0, made.stderr
        key, key_id = made.stdout.removesuffix("\n"), made.stdout[3:11]
        assert key not in made.stderr
        bearer = {"authorization": f"Bearer {key}"}
        assert client.get("/v1/stats").status_code == 401  # from the first one on
        assert client.get("/v1/stats", headers=bearer).status_code == 200
        listed = run("keys", "list", "--data-dir", data, **variables)
        assert re.search(rf"^{key_id}  reader  .*  -  +alice$", listed.stdout, re.MULTILINE)
        assert key not in listed.stdout
        revoked = run("keys", "revoke", key_id, "--data-dir", data, **variables)
        assert (revoked.returncode, "nobody is let in" in revoked.stderr) == (0, True)
        assert client.get("/v1/stats", headers=bearer).status_code == 401
        assert client.get("/v1/stats").status_code == 401


def test_a_whole_key_is_revoked_by_its_id_and_never_printed(tmp_path: Path) -> None:
    data = ["--data-dir", str(tmp_path)]
    key = run("keys", "create", "--name", "alice", "--role", "reader", *data).stdout.strip()
    for given, code in ((f"{key}x", 2), (key[:-1], 2), (key, 0), (f"sk_00000000_{key[12:]}", 2)):
        done = run("keys", "revoke", given, *data)
        assert (done.returncode, done.stdout) == (code, "")
        assert key[12:30] not in done.stderr
    assert f"The key {key[3:11]} of alice is revoked" in run("keys", "revoke", key, *data).stderr


def test_the_first_key_makes_the_database_and_the_service_starts_with_it(tmp_path: Path, start: Start) -> None:
    data = tmp_path / "data"
    assert run("keys", "list", "--data-dir", str(data)).returncode == 2
    assert run("keys", "create", "--name", "a", "--role", "admin", "--data-dir", str(data)).returncode == 0
    assert not (data / "samekind.pid").exists()
    with start(model=None, host="0.0.0.0") as client:  # noqa: S104
        assert client.get("/v1/stats").status_code == 401


def test_a_store_that_another_process_is_making_is_not_made_twice(tmp_path: Path) -> None:
    places = Settings(data_dir=tmp_path).places
    with own_store(places), open_or_make_store(places) as store:  # there is one: no need to own it
        assert store.repository.keys.all() == []
    (tmp_path / "samekind.db").unlink()
    with pytest.raises(OlderDatabase), open_store(places):
        pass
    with (
        own_store(replace(places, database=tmp_path / "other.db")),
        pytest.raises(DataFolderInUse),
        open_or_make_store(places),
    ):
        pass


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "--name", "", "--role", "admin"], "needs a name"),
        (["create", "--name", "x" * 201, "--role", "admin"], "limit is 200"),
        (["revoke", "00000000"], "There is no key '00000000'"),
    ],
)
def test_refusals_are_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    with own_store(Settings(data_dir=tmp_path).places):
        refused = run("keys", *arguments, "--data-dir", str(tmp_path))
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert message in refused.stderr


def test_the_command_knows_the_roles() -> None:
    assert get_args(get_type_hints(create)["role"]) == ROLES
