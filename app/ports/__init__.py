"""What the services need from the outside, and what each part promises. Implementations: `store`, `index`, `extractor`.

Every method may raise StoreUnavailable where a database or a blob store is behind it; all are safe to call from
several threads.
"""

from app.ports.extractor import Extractor
from app.ports.files import Blobs, FileDeletion
from app.ports.index import NewIndex, Snapshots, VectorIndex
from app.ports.repository import Images, Models, Pairs, Queries, Repository

__all__ = [
    "Blobs",
    "Extractor",
    "FileDeletion",
    "Images",
    "Models",
    "NewIndex",
    "Pairs",
    "Queries",
    "Repository",
    "Snapshots",
    "VectorIndex",
]
