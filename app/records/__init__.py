"""What the service keeps and passes around: plain values without behaviour."""

from app.records.access import Anonymous, KeyRecord, Role
from app.records.feedback import CountingVerdict, FeedbackCall, GivenVerdict, RecordedPairs
from app.records.images import (
    Box,
    CategoryCounts,
    FeatureBlock,
    FeatureMatrix,
    Fields,
    ImageFilter,
    ImageLabel,
    NewImage,
    Picture,
    Pixels,
    Scalar,
    StoredImage,
    StoredKeys,
)
from app.records.index import Approximation, Hit, IndexRows, NearDuplicate
from app.records.index_changes import ChangeKind, IndexChange, PendingChanges, RecentChanges
from app.records.jobs import LEARN, JobFailure, JobProgress, JobRecord, JobState, LearnProgress, LearnResult
from app.records.learning import Counts, Erased, Extent, ModelRecord, QueryFeatures, QueryRecord
from app.records.places import BlobName, FileDeletions, Places, Turn
from app.records.uploads import BatchFile, SpooledFile, SpooledFiles

__all__ = [
    "LEARN",
    "Anonymous",
    "Approximation",
    "BatchFile",
    "BlobName",
    "Box",
    "CategoryCounts",
    "ChangeKind",
    "CountingVerdict",
    "Counts",
    "Erased",
    "Extent",
    "FeatureBlock",
    "FeatureMatrix",
    "FeedbackCall",
    "Fields",
    "FileDeletions",
    "GivenVerdict",
    "Hit",
    "ImageFilter",
    "ImageLabel",
    "IndexChange",
    "IndexRows",
    "JobFailure",
    "JobProgress",
    "JobRecord",
    "JobState",
    "KeyRecord",
    "LearnProgress",
    "LearnResult",
    "ModelRecord",
    "NearDuplicate",
    "NewImage",
    "PendingChanges",
    "Picture",
    "Pixels",
    "Places",
    "QueryFeatures",
    "QueryRecord",
    "RecentChanges",
    "RecordedPairs",
    "Role",
    "Scalar",
    "SpooledFile",
    "SpooledFiles",
    "StoredImage",
    "StoredKeys",
    "Turn",
]
