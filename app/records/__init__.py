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
from app.records.jobs import JobFailure, JobProgress, JobRecord, JobState
from app.records.learning import Counts, Erased, Extent, ModelRecord, QueryFeatures, QueryRecord
from app.records.places import BlobName, Places

__all__ = [
    "Anonymous",
    "Approximation",
    "BlobName",
    "Box",
    "CategoryCounts",
    "CountingVerdict",
    "Counts",
    "Erased",
    "Extent",
    "FeatureBlock",
    "FeatureMatrix",
    "FeedbackCall",
    "Fields",
    "GivenVerdict",
    "Hit",
    "ImageFilter",
    "ImageLabel",
    "IndexRows",
    "JobFailure",
    "JobProgress",
    "JobRecord",
    "JobState",
    "KeyRecord",
    "ModelRecord",
    "NearDuplicate",
    "NewImage",
    "Picture",
    "Pixels",
    "Places",
    "QueryFeatures",
    "QueryRecord",
    "RecordedPairs",
    "Role",
    "Scalar",
    "StoredImage",
    "StoredKeys",
]
