"""What the services need from the outside, and what each part promises. Implementations: `store`, `index`, `extractor`.

Every method may raise StoreUnavailable where a database or a blob store is behind it; all are safe to call from
several threads.
"""

from app.ports.extractor import Backbones, Extraction, Extractor
from app.ports.fetcher import Fetcher
from app.ports.files import Blobs, FileDeletion
from app.ports.images import Images
from app.ports.index import NewIndex, Snapshots, VectorIndex
from app.ports.jobs import Jobs
from app.ports.measures import Measures, Stage
from app.ports.next_features import NextFeatures
from app.ports.pairs import Pairs
from app.ports.repository import Keys, Models, Queries, Repository

__all__ = [
    "Backbones",
    "Blobs",
    "Extraction",
    "Extractor",
    "Fetcher",
    "FileDeletion",
    "Images",
    "Jobs",
    "Keys",
    "Measures",
    "Models",
    "NewIndex",
    "NextFeatures",
    "Pairs",
    "Queries",
    "Repository",
    "Snapshots",
    "Stage",
    "VectorIndex",
]
