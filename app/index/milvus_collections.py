"""The collections of one prefix in Milvus: one for each model version, and an alias that names the active one's.

An entity is an image: `seq` (its number, the primary key), `embedding`, `terms` (see `app.index.milvus_terms`).
"""

import re
from typing import Any

from app.errors import StoreUnavailable
from app.index.milvus_collection import MilvusCollection, stored_dim
from app.index.milvus_server import ANSWER_S, MilvusServer
from app.index.milvus_terms import MAX_TERMS

__all__ = ["MilvusCollections"]

_MAKE_S = 60.0  # an index is made or a collection loaded: seconds, more where others do the same
_VERSION = re.compile(r"[A-Za-z0-9]{1,64}")
_FIELDS = ("seq", "embedding", "terms")


class MilvusCollections:
    """Making and removing may be done by several replicas at once, and again."""

    def __init__(self, server: MilvusServer):
        self.server = server
        self._prefix = server.place.prefix
        self._dims: dict[str, int] = {}  # of embeddings, of collections that are ours

    def name(self, model_version: str) -> str:
        """Of the collection of a model. Raises: ValueError for a version that is not letters and digits."""
        if not _VERSION.fullmatch(model_version):
            raise ValueError(f"{model_version!r} cannot be part of a collection's name.")
        return f"{self._prefix}_{model_version}"

    def opened(self, model_version: str, embedding_dim: int) -> MilvusCollection:
        """A model's, made if it is not there, and ready to be searched. Raises: StoreUnavailable."""
        name = self.name(model_version)
        with self.server.client() as client:
            if not client.has_collection(name, timeout=ANSWER_S):
                self._create(client, name, model_version, embedding_dim)
            if self._dim(client, name) != stored_dim(embedding_dim):
                raise StoreUnavailable(
                    f"Milvus has a collection {name} that is not of this program, or damaged: remove it, or give the "
                    "index another prefix."
                )
            if not client.list_indexes(name, timeout=ANSWER_S):
                self._create_index(client, name)
            if "Loaded" not in str(client.get_load_state(name, timeout=ANSWER_S)["state"]):
                client.load_collection(name, timeout=_MAKE_S)
        return MilvusCollection(self.server, name, embedding_dim)

    def all(self) -> dict[str, MilvusCollection]:
        """Those that there are, by model version."""
        with self.server.client() as client:
            found = {name: self._dim(client, name) for name in sorted(client.list_collections(timeout=ANSWER_S))}
        return {self._version_in(name): MilvusCollection(self.server, name, dim) for name, dim in found.items() if dim}

    def drop(self, model_version: str) -> None:
        """Remove a model's; does nothing if it is not there."""
        name = self.name(model_version)
        with self.server.client() as client:
            if self._pointed_to(client) == name:
                client.drop_alias(self._prefix, timeout=ANSWER_S)
            client.drop_collection(name, timeout=_MAKE_S)  # says nothing if there is none
        self._dims.pop(name, None)

    def point_to(self, model_version: str) -> None:
        """Have the alias name a model's collection, in one step. Raises: NoCollection if there is none."""
        name = self.name(model_version)
        with self.server.client() as client:
            former = self._pointed_to(client)
            if former == name:
                return
            if former is None:
                try:
                    client.create_alias(name, self._prefix, timeout=ANSWER_S)
                except self.server.package.MilvusException:
                    if self._pointed_to(client) is None:  # else another replica was faster
                        raise
            client.alter_alias(name, self._prefix, timeout=ANSWER_S)

    def _version_in(self, name: str) -> str:
        version = name.removeprefix(f"{self._prefix}_")
        return version if version != name and _VERSION.fullmatch(version) else ""

    def _dim(self, client: Any, name: str) -> int | None:
        """Of its embeddings, as stored; None: it is gone, or not ours by its name or by its fields. Other programs may
        use the same server, and names that begin like ours."""
        if not self._version_in(name):
            return None
        if name not in self._dims:
            try:
                fields = client.describe_collection(name, timeout=ANSWER_S)["fields"]
            except self.server.package.MilvusException:
                if client.has_collection(name, timeout=ANSWER_S):
                    raise
                return None
            if [each["name"] for each in fields] != list(_FIELDS):
                return None
            self._dims[name] = int(fields[1]["params"]["dim"])
        return self._dims[name]

    def _pointed_to(self, client: Any) -> str | None:
        try:
            return str(client.describe_alias(self._prefix, timeout=ANSWER_S)["collection_name"])
        except self.server.package.MilvusException as error:
            if "not found" in str(error) or "does not exist" in str(error):  # codes differ between its versions
                return None
            raise

    def _create(self, client: Any, name: str, model_version: str, embedding_dim: int) -> None:
        kinds = self.server.package.DataType
        schema = client.create_schema(
            auto_id=False, enable_dynamic_field=False, description=f"Embeddings by model {model_version}"
        )
        schema.add_field("seq", kinds.INT64, is_primary=True)
        schema.add_field("embedding", kinds.FLOAT_VECTOR, dim=stored_dim(embedding_dim))
        schema.add_field("terms", kinds.ARRAY, element_type=kinds.INT64, max_capacity=MAX_TERMS)
        try:
            client.create_collection(name, schema=schema, consistency_level="Bounded", timeout=_MAKE_S)
        except self.server.package.MilvusException:
            if not client.has_collection(name, timeout=ANSWER_S):  # else another replica was faster
                raise

    def _create_index(self, client: Any, name: str) -> None:
        """FLAT looks at every row, as exact searches must."""
        params = client.prepare_index_params()
        params.add_index("embedding", index_type="FLAT", metric_type="L2")
        try:
            client.create_index(name, params, timeout=_MAKE_S)
        except self.server.package.MilvusException:
            if not client.list_indexes(name, timeout=ANSWER_S):
                raise
