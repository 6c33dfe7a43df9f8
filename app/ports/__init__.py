"""What the services need from the outside, and what each part promises. Implementations: `store`, `index`, `extractor`.

Every method may raise StoreUnavailable where a database or a blob store is behind it; all are safe to call from
several threads.
"""

from app.ports.extractor import Backbones, Extraction, Extractor
from app.ports.fetcher import Fetcher
from app.ports.files import Blobs, Spool
from app.ports.images import Images
from app.ports.index import Among, MemoryIndex, NewIndex, SharedIndexes, Snapshots, VectorIndex
from app.ports.index_changes import IndexChanges
from app.ports.jobs import Jobs
from app.ports.learn_jobs import LearnJobs
from app.ports.measures import Measures, Stage
from app.ports.next_features import NextFeatures
from app.ports.pairs import Pairs
from app.ports.repository import Keys, Models, Queries, Repository
from app.ports.turns import Change, FileDeletion, Turns

__all__ = [
    "Among",
    "Backbones",
    "Blobs",
    "Change",
    "Extraction",
    "Extractor",
    "Fetcher",
    "FileDeletion",
    "Images",
    "IndexChanges",
    "Jobs",
    "Keys",
    "LearnJobs",
    "Measures",
    "MemoryIndex",
    "Models",
    "NewIndex",
    "NextFeatures",
    "Pairs",
    "Queries",
    "Repository",
    "SharedIndexes",
    "Snapshots",
    "Spool",
    "Stage",
    "Turns",
    "VectorIndex",
]
