"""What the service keeps and passes around: plain values without behaviour."""

from app.records.access import Anonymous, KeyRecord, Role
from app.records.feedback import (
    CountingVerdict,
    FeedbackCall,
    GivenGroup,
    GivenVerdict,
    Marks,
    NewToLearn,
    RecordedFeedback,
)
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
from app.records.jobs import JobFailure, JobProgress, JobRecord, JobState
from app.records.learning import Counts, Erased, Extent, ModelRecord, QueryFeatures, QueryRecord
from app.records.places import BlobName, FileDeletions, Places, Turn
from app.records.uploads import BatchFile, SpooledFile, SpooledFiles

__all__ = [
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
    "GivenGroup",
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
    "Marks",
    "ModelRecord",
    "NearDuplicate",
    "NewImage",
    "NewToLearn",
    "PendingChanges",
    "Picture",
    "Pixels",
    "Places",
    "QueryFeatures",
    "QueryRecord",
    "RecentChanges",
    "RecordedFeedback",
    "Role",
    "Scalar",
    "SpooledFile",
    "SpooledFiles",
    "StoredImage",
    "StoredKeys",
    "Turn",
]
