"""The service's settings: one table with name, default and help, read from SAMEKIND_ variables."""

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.errors import BadSettings
from app.hosts import (
    check_fetch_hosts,
    check_names,
    check_origins,
    host_names,
    is_every_address,
    is_loopback,
    origins_of,
)
from app.records import Anonymous, Places

__all__ = ["MILVUS", "PGVECTOR", "PREFIX", "Settings", "load_settings", "settings_table"]

PREFIX = "SAMEKIND_"
PGVECTOR, MILVUS = "pgvector", ("milvus+http://", "milvus+https://")  # what index_url may be
_CREDENTIALS = re.compile(r"//[^/@]*@")  # of a URL
_OF_OTHERS = {"key"}  # where `trainer update` finds its key: no setting, and no mistake either


class Settings(BaseSettings):
    """Every number that limits or tunes the service, and where it keeps things."""

    # An empty variable is one that is not set: compose files cannot leave a variable out.
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid")

    host: str = Field("127.0.0.1", description="Address to listen on; any but loopback needs a key or allow_anonymous.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(
        Path("samekind-data"), description="Folder of the database and the files; one process owns it."
    )
    database_url: str = Field(
        "",
        description="postgresql://user:password@host/database, or sqlite:////a/file; one process owns it unless "
        "index_url is set; empty: samekind.db in data_dir.",
    )
    # One for each thread that answers requests, and some more; PostgreSQL takes 100 of all replicas unless told more.
    database_connections: int = Field(
        50, ge=10, le=1000, description="Most connections to a PostgreSQL server at once, of each replica."
    )
    index_url: str = Field(
        "",
        description="Where replicas share the index: pgvector (in the PostgreSQL of database_url), or "
        "milvus+http://host:19530; empty: in memory, of the one process that owns the collection.",
    )
    blobs_url: str = Field(
        "",
        description="fsspec URL where originals and thumbnails are kept, such as s3://bucket; empty: data_dir/blobs.",
    )
    model: Path | None = Field(
        None, description="Model file to activate at start; unset: the one that was active last."
    )
    # embedding.backbone.DEFAULT_BACKBONE, but that module takes seconds to import; a test compares the two.
    backbone: str = Field(
        "efficientnet-lite0",
        description="Where features come from while there is neither an image nor a model that has learned; later the "
        "collection knows.",
    )
    backbone_weights: Path | None = Field(
        None,
        description="Weights file of that backbone, or a folder of such files; unset: their usual places.",
    )
    device: str = Field("auto", description="Where the backbone runs: auto, cpu, cuda, mps.")
    engine: Literal["auto", "torch", "openvino"] = Field(
        "auto", description="What runs the backbone: auto (OpenVINO on a CPU, torch elsewhere), torch or openvino."
    )
    precision: Literal["float32", "bfloat16"] = Field(
        "float32",
        description="Of the backbone's arithmetic; bfloat16 is about twice as fast where the processor has it, and a "
        "little less exact.",
    )
    cache_dir: Path | None = Field(
        None,
        description="Folder of what a start would otherwise prepare anew; unset: samekind in the user's cache folder.",
    )
    allow_download: bool = Field(False, description="Whether missing weights may be fetched from the internet.")
    allow_anonymous: bool = Field(
        False, description="Whether anyone who reaches the port may do everything without a key."
    )
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
    max_batch_bytes: int = Field(256 * 2**20, ge=1024, description="Largest body of a batch of image files, in bytes.")
    max_k: int = Field(
        1000, gt=0, le=10_000, description="Most neighbours that one search may ask for, those passed over included."
    )
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
    # Each waits with its file in memory; a batch with 1 MiB of it, the rest is on disk, and 16 files of all batches
    # together are read at once. So this and 16 more, times max_upload_bytes, bounds what a crowd can take.
    queue_size: int = Field(
        64, gt=0, le=10_000, description="Most requests with pictures at once; further ones are answered 503."
    )
    requests_per_minute: int = Field(
        0, ge=0, le=10_000_000, description="Most requests of one key within any minute; 0: as many as it likes."
    )
    concurrent_requests: int = Field(
        0, ge=0, le=10_000, description="Most requests of one key at once; 0: as many as it likes."
    )
    cors_origins: str = Field(
        "",
        description="Origins whose pages may use the service, separated by commas, such as https://photos.example.com; "
        "empty: none but its own.",
    )
    fetch_hosts: str = Field(
        "",
        description="Host names that searches may fetch pictures from, separated by commas; empty: none. Private "
        "addresses never.",
    )
    import_dir: Path | None = Field(
        None, description="Folder that import jobs may read pictures from; unset: there are no import jobs."
    )
    job_retention_s: int = Field(
        7 * 24 * 3600, gt=0, le=10 * 365 * 24 * 3600, description="How long finished jobs can be asked for, in seconds."
    )
    # Each is kept with its file: 50 MB at most, mostly far less.
    keep_models: int = Field(
        10,
        ge=1,
        le=1000,
        description="How many of the newest models are kept, beside the active one and the one before it.",
    )
    trainer: Literal["auto", "remote"] = Field(
        "auto",
        description="Who learns: auto (a process beside the service where the trainer is installed, and whoever asks "
        "for work), or remote (only who asks: `trainer update --watch`).",
    )
    # Fifty answers take a person ten minutes, and are what a comparison begins to tell apart.
    learn_every: int = Field(
        50,
        ge=0,
        le=10_000_000,
        description="How much must be new, in the unit of `new` of GET /v1/stats, for learning to begin by itself; 0: "
        "it never does.",
    )
    learn_pause_s: int = Field(
        300,
        ge=0,
        le=365 * 24 * 3600,
        description="How long after learning has ended it may begin by itself again, in seconds.",
    )
    # A trainer says something each ten seconds at least, and a proxy may take half a minute to start anew.
    learn_lease_s: int = Field(
        60,
        ge=2,
        le=24 * 3600,
        description="How long a trainer may say nothing before another one does its job, in seconds.",
    )
    dimensions: int = Field(
        16,
        ge=1,
        le=1024,
        description="d of the principal components that the collection is searched by until a model has learned.",
    )
    components_from: int = Field(
        300,
        ge=0,
        description="From how many images on there are such components, of plain features before; 0: never.",
    )
    # Below 100,000 the exact search takes a millisecond.
    approximate_from: int = Field(
        0,
        ge=0,
        description="From how many images on searches without a filter may miss one of a hundred neighbours, to be "
        "faster; 0: they are always exact.",
    )
    log_format: Literal["text", "json"] = Field("text", description="How log lines look: text for people, or json.")
    threads: int = Field(0, ge=0, le=256, description="CPU threads for feature extraction; 0: all cores.")

    @field_validator("allowed_hosts")
    @classmethod
    def _only_names(cls, allowed_hosts: str) -> str:
        check_names(allowed_hosts)
        return allowed_hosts

    @field_validator("index_url")
    @classmethod
    def _only_shared_indexes(cls, index_url: str) -> str:
        if index_url not in ("", PGVECTOR) and not index_url.startswith(MILVUS):
            raise ValueError(f"must be {PGVECTOR}, or a URL that begins with {' or '.join(MILVUS)}")
        return index_url

    @model_validator(mode="after")
    def _all_is_shared(self) -> Self:
        """What replicas rely on must be where all of them reach it."""
        if not self.index_url:
            return self
        if not self.database_url.startswith("postgres"):
            raise ValueError(
                "SAMEKIND_INDEX_URL is for replicas, which share a database: set SAMEKIND_DATABASE_URL too"
            )
        if not self.blobs_url:
            raise ValueError("SAMEKIND_INDEX_URL is for replicas, which share their files: set SAMEKIND_BLOBS_URL too")
        if self.approximate_from:
            raise ValueError("SAMEKIND_APPROXIMATE_FROM is for an index in memory: unset it, or SAMEKIND_INDEX_URL")
        return self

    @field_validator("cors_origins")
    @classmethod
    def _only_origins(cls, cors_origins: str) -> str:
        check_origins(cors_origins)
        return cors_origins

    @property
    def origins(self) -> frozenset[str]:
        """The origins whose pages may use the service, as browsers write them: without the port that goes unsaid."""
        return origins_of(self.cors_origins)

    @field_validator("fetch_hosts")
    @classmethod
    def _only_names_of_hosts(cls, fetch_hosts: str) -> str:
        check_fetch_hosts(fetch_hosts)
        return fetch_hosts

    @property
    def fetchable(self) -> frozenset[str]:
        """The host names that pictures may be fetched from, in lower case."""
        return frozenset(host_names(self.fetch_hosts))

    @property
    def hosts(self) -> frozenset[str]:
        """The host names that requests may name: lower case, IPv6 addresses without brackets; "*" among them: any."""
        if self.allowed_hosts:
            names = host_names(self.allowed_hosts)
        elif is_every_address(self.host):
            names = ["*"]  # it has as many names as the machine; a key or allow_anonymous was needed to get here
        else:
            names = ["localhost", "127.0.0.1", "::1", self.host.lower()]
        return frozenset(name.strip("[]") for name in names)

    @property
    def anonymous(self) -> Anonymous:
        """When somebody without a key may do everything."""
        if self.allow_anonymous:
            return "always"
        return "while_no_key" if is_loopback(self.host) else "never"

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
        return Places(self.data_dir, self.database, self.blobs, self.database_connections, shared=bool(self.index_url))

    @property
    def spool(self) -> Path:
        """The folder of uploaded files that wait for their job."""
        return self.data_dir.absolute() / "spool"

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


def _refuse_unknown_variables(environment: Iterable[str]) -> None:
    for variable in sorted(environment):
        name = variable.lower().removeprefix(PREFIX.lower())
        if variable.upper().startswith(PREFIX) and name not in Settings.model_fields and name not in _OF_OTHERS:
            close = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"did you mean {PREFIX}{close[0].upper()}?" if close else "run `samekind settings` for the list."
            raise BadSettings(f"{variable} is no setting of this program: {hint}")


def _sentence(problem: Any) -> str:
    name = ".".join(map(str, problem["loc"]))
    message = str(problem["msg"]).removeprefix("Value error, ")
    given = _CREDENTIALS.sub("//...@", repr(problem["input"]))
    return f"{PREFIX}{name.upper()}: {message}, got {given}" if name else message


def _shown(default: object) -> str:
    match default:
        case None | "":
            return "(unset)"
        case bool():
            return str(default).lower()
    return str(default)
