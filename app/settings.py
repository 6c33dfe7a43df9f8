"""The service's settings: one table with name, default and help, read from SAMEKIND_ variables."""

import difflib
import ipaddress
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import BadSettings
from app.records import Places

__all__ = ["PREFIX", "Settings", "load_settings", "settings_table"]

PREFIX = "SAMEKIND_"

_HOST_NAME = re.compile(r"\*|[a-z0-9._-]+|\[[0-9a-f:.]+\]|[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*")


class Settings(BaseSettings):
    """Every number that limits or tunes the service, and where it keeps things."""

    # An empty variable is one that is not set: compose files cannot leave a variable out.
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on; any but loopback needs allow_anonymous.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(
        Path("samekind-data"), description="Folder of the database and the files; one process owns it."
    )
    database_url: str = Field(
        "",
        description="postgresql://user:password@host/database, or sqlite:////a/file; one process owns it; empty: "
        "samekind.db in data_dir.",
    )
    blobs_url: str = Field("", description="fsspec URL where originals and thumbnails are kept; empty: data_dir/blobs.")
    model: Path | None = Field(
        None, description="Model file to activate at start; unset: the one that was active last."
    )
    # embedding.backbone.DEFAULT_BACKBONE, but that module takes seconds to import; a test compares the two.
    backbone: str = Field("efficientnet-lite0", description="Where features come from while no model is active.")
    backbone_weights: Path | None = Field(None, description="Weights file for the backbone; unset: its usual place.")
    device: str = Field("auto", description="Where the backbone runs: auto, cpu, cuda, mps.")
    allow_download: bool = Field(False, description="Whether missing weights may be fetched from the internet.")
    allow_anonymous: bool = Field(False, description="Whether anyone who reaches the port may read, add and delete.")
    allowed_hosts: str = Field(
        "",
        description="Host names that requests may name, separated by commas, without ports, * for any; empty: "
        "localhost, 127.0.0.1, [::1] and the host listened on, or any if that is 0.0.0.0 or ::.",
    )
    # A 48-megapixel JPEG of a phone is about 12 MiB.
    # At the lower bound nothing is gained any more, and the picture that warms up the extractor still passes.
    max_upload_bytes: int = Field(20 * 2**20, ge=1024, description="Largest image file that is accepted, in bytes.")
    # Decoded RGB of the default takes 180 MB of memory. Above the upper bound, twice its MAX_IMAGE_PIXELS, Pillow takes
    # a picture for a decompression bomb and refuses it whatever we say.
    max_pixels: int = Field(
        60_000_000, gt=0, le=178_956_970, description="Largest width x height that is accepted, in pixels."
    )
    max_k: int = Field(1000, gt=0, le=10_000, description="Most neighbours that one search may ask for.")
    # Ten years at most: from much longer ones no date follows.
    query_retention_s: int = Field(
        7 * 24 * 3600,
        gt=0,
        le=10 * 365 * 24 * 3600,
        description="How long feedback may name an uploaded query, in seconds.",
    )
    # A listing of ten million files takes half a minute of a disk's time.
    housekeeping_interval_s: int = Field(
        24 * 3600,
        ge=1,
        le=365 * 24 * 3600,
        description="How often files that no image names are looked for and removed, in seconds; also at each start.",
    )
    threads: int = Field(0, ge=0, le=256, description="CPU threads for feature extraction; 0: all cores.")

    @model_validator(mode="after")
    def _refuse_to_serve_strangers_by_accident(self) -> Self:
        if not self.allow_anonymous and not _is_loopback(self.host):
            raise ValueError(
                f"host {self.host} can be reached from other machines and there are no keys: listen on 127.0.0.1, "
                f"or set {PREFIX}ALLOW_ANONYMOUS=true if everyone who reaches it may read, add and delete"
            )
        return self

    @field_validator("allowed_hosts")
    @classmethod
    def _only_names(cls, allowed_hosts: str) -> str:
        for name in _host_names(allowed_hosts):
            if not _HOST_NAME.fullmatch(name):
                raise ValueError(f"{name} is no host name: give example.org or [::1], without scheme, port and path")
        return allowed_hosts

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that requests may name: lower case, IPv6 addresses without brackets; "*" among them: any."""
        if self.allowed_hosts:
            names = _host_names(self.allowed_hosts)
        elif _is_every_address(self.host):
            names = ["*"]  # it has as many names as the machine; allow_anonymous was needed to get here
        else:
            names = ["localhost", "127.0.0.1", "::1", self.host.lower()]
        return frozenset(name.strip("[]") for name in names)

    @property
    def database(self) -> str | Path:
        """The database to open: a URL if one is set, else a file, whose name may hold what means something in URLs."""
        return self.database_url or self.data_dir.absolute() / "samekind.db"

    @property
    def blobs(self) -> str | Path:
        """Where blobs are kept: likewise a URL or a folder."""
        return self.blobs_url or self.data_dir.absolute() / "blobs"

    @property
    def places(self) -> Places:
        """All three."""
        return Places(self.data_dir, self.database, self.blobs)

    @property
    def snapshot(self) -> Path:
        """The file of the index snapshot."""
        return self.data_dir.absolute() / "index.snapshot"


def load_settings(**overrides: Any) -> Settings:
    """Read the environment; `overrides` win over it, None among them means not given.

    Raises: BadSettings for a value that does not fit and for a SAMEKIND_ variable that is no setting.
    """
    _refuse_unknown_variables(os.environ)
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        raise BadSettings("; ".join(_sentence(problem) for problem in error.errors())) from error


def settings_table() -> list[tuple[str, str, str]]:
    """(variable, default, help) of each setting, in the order of the class."""
    return [
        (f"{PREFIX}{name.upper()}", _shown(field.default), field.description or "")
        for name, field in Settings.model_fields.items()
    ]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False  # a name: it may be anything


def _is_every_address(host: str) -> bool:
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _host_names(text: str) -> list[str]:
    return [name.strip().lower() for name in text.split(",") if name.strip()]


def _refuse_unknown_variables(environment: Iterable[str]) -> None:
    for variable in sorted(environment):
        name = variable.lower().removeprefix(PREFIX.lower())
        if variable.upper().startswith(PREFIX) and name not in Settings.model_fields:
            close = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"did you mean {PREFIX}{close[0].upper()}?" if close else "run `samekind settings` for the list."
            raise BadSettings(f"{variable} is no setting of this program: {hint}")


def _sentence(problem: Any) -> str:
    name = ".".join(map(str, problem["loc"]))
    message = str(problem["msg"]).removeprefix("Value error, ")
    return f"{PREFIX}{name.upper()}: {message}, got {problem['input']!r}" if name else message


def _shown(default: object) -> str:
    match default:
        case None | "":
            return "(unset)"
        case bool():
            return str(default).lower()
    return str(default)
