"""Examples for the API's description: a small collection of cups, the same in every one."""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "CURSOR",
    "EXAMPLES",
    "FAILURE",
    "FEEDBACK_ID",
    "GIVEN",
    "GIVEN_GROUP",
    "IMAGE_ID",
    "JOB_ID",
    "VERDICT",
    "VERSION",
]

Json = dict[str, Any]

CURSOR = "MTox"
IMAGE_ID, JOB_ID, VERSION = "cup-1", "5d0c7bd1a4e94f0c8f0e3f0b6f7e2a91", "3ebcf17f3c258659"
FEEDBACK_ID = "0b7c5b9d2f6e4a1b8d3c9e7f5a604812"
_CREATED, _FINISHED = "2030-01-02T03:04:05Z", "2030-01-02T03:05:17Z"
_REQUEST_ID = "8c1f0a52d6be4c1e"


LINKS: Json = {
    "image": f"/v1/images/{IMAGE_ID}",
    "file": f"/v1/images/{IMAGE_ID}/file",
    "thumbnail": f"/v1/images/{IMAGE_ID}/thumbnail",
}
IMAGE: Json = {
    "id": IMAGE_ID,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "media_type": "image/jpeg",
    "width": 1024,
    "height": 768,
    "byte_size": 183_204,
    "category": "cups",
    "metadata": {"shelf": 7},
    "created": _CREATED,
    "updated": None,
    "links": LINKS,
}
IMAGE_PAGE: Json = {"images": [IMAGE], "next": CURSOR}
CHANGES: Json = {"category": "mugs", "metadata": {"shelf": 8, "note": None}}
PROBLEM: Json = {
    "type": "urn:samekind:problem:broken_image",
    "title": "Unprocessable Entity",
    "status": 422,
    "detail": "The file is cut off or damaged.",
    "code": "broken_image",
    "request_id": _REQUEST_ID,
}
BATCH_ITEM: Json = {"name": "cup.jpg", "status": 201, "image": IMAGE, "problem": None}
BATCH: Json = {
    "errors": True,
    "items": [BATCH_ITEM, {"name": "hat.jpg", "status": 422, "image": None, "problem": PROBLEM}],
}

EXPLANATION: Json = {"dimensions": [0.01, 0.03], "channels": [{"channel": 17, "share": 0.04}]}
NEIGHBOUR: Json = {
    "id": IMAGE_ID,
    "squared_distance": 0.04,
    "same": True,
    "probability": 0.93,
    "category": "cups",
    "metadata": {"shelf": 7},
    "explanation": None,
    "links": LINKS,
}
VOTE: Json = {"category": "cups", "share": 1.0}
SEARCH: Json = {
    "query_id": "q_6f1d0c52a7be4d0e9c3b",
    "model": VERSION,
    "trained": True,
    "k": 10,
    "offset": 0,
    "category": VOTE,
    "neighbours": [NEIGHBOUR],
}
OUTCOME: Json = {"answer": SEARCH, "problem": None}
SEARCH_BATCH: Json = {"results": [OUTCOME, {"answer": None, "problem": PROBLEM}]}

VERDICT: Json = {"left": IMAGE_ID, "right": "cup-2", "similar": True}
GROUP: Json = {"same": [IMAGE_ID, "cup-3", "cup-4"], "different": ["plate-1"]}
FEEDBACK: Json = {"pairs": [VERDICT], "groups": [GROUP], "source": "Ada, by eye"}
RECORDED: Json = {
    "recorded": 1,
    "unchanged": 0,
    "groups": 1,
    "groups_unchanged": 0,
    "agreeing": 1,
    "feedback_id": FEEDBACK_ID,
}
UNDONE: Json = {"undone": 1}
_SAID: Json = {
    "given_by": "6e1f20a4",
    "source": "Ada, by eye",
    "created": _CREATED,
    "feedback_id": FEEDBACK_ID,
    "undone": None,
}
GIVEN: Json = VERDICT | _SAID
GIVEN_GROUP: Json = GROUP | _SAID
DOUBT: Json = {"image_id": IMAGE_ID, "category": "cups", "neighbours_say": "mugs", "share": 0.9}
SUGGESTION: Json = {
    "left": IMAGE,
    "right": IMAGE | {"id": "cup-2", "links": {name: link.replace(IMAGE_ID, "cup-2") for name, link in LINKS.items()}},
    "squared_distance": 0.11,
    "probability": 0.52,
    "reason": "label",
    "doubt": DOUBT,
}
SUGGESTIONS: Json = {"model": VERSION, "trained": True, "suggestions": [SUGGESTION], "detail": None}

MEASURE: Json = {
    "before": 0.712,
    "after": 0.731,
    "count": 400,
    "name": "mprec_at_10",
    "difference": 0.019,
    "low": 0.008,
    "high": 0.03,
}
CATEGORY: Json = {"before": 0.64, "after": 0.7, "count": 40, "category": "cups"}
COMPARISON: Json = {
    "with": "9d1c5be07f2a4433",
    "verdict": "better",
    "measures": [MEASURE],
    "categories": [CATEGORY],
}
MODEL_LINKS: Json = {"file": f"/v1/models/{VERSION}/file", "report": f"/v1/models/{VERSION}/report"}

MODEL: Json = {
    "version": VERSION,
    "active": True,
    "created": _CREATED,
    "method": "nml",
    "trained": True,
    "feature_dim": 1280,
    "embedding_dim": 64,
    "b": 0.12,
    "activated": _FINISHED,
    "comparison": COMPARISON,
    "links": MODEL_LINKS,
}
MODEL_DETAILS: Json = MODEL | {"manifest": {"format_version": 1, "method": "nml", "D": 1280, "d": 64, "b": 0.12}}
CATEGORY_COUNT: Json = {"name": "cups", "images": 640}
CATEGORIES: Json = {"categories": [CATEGORY_COUNT], "without": 3}
MAP_POINT: Json = {"id": IMAGE_ID, "x": 0.31, "y": 0.58, "category": "cups"}
COLLECTION_MAP: Json = {"model": VERSION, "trained": True, "images": 1204, "points": [MAP_POINT]}
APPROXIMATION: Json = {"lists": 4000, "probed": 31, "recall": 0.9952}
NEW: Json = {"verdicts": 40, "categories": 18, "undone": 2, "agreeing": 7, "total": 60}
STATS: Json = {
    "images": 1204,
    "queries": 31,
    "pairs": 560,
    "verdicts": 320,
    "contradicted": 12,
    "new": NEW,
    "model": VERSION,
    "trained": True,
    "indexed": 1204,
    "approximation": APPROXIMATION,
}

ACTIVATION: Json = {"force": False, "learn_job": None, "lease": None}
IMPORT: Json = {"path": "holidays/list.csv"}
JOB: Json = {
    "id": JOB_ID,
    "kind": "import",
    "state": "done",
    "total": 1205,
    "done": 1204,
    "failed": 1,
    "detail": "Added 1,204 pictures; 0 were there already.",
    "created": _CREATED,
    "started": _CREATED,
    "finished": _FINISHED,
    "phase": None,
    "seconds_left": None,
    "result": None,
}
LEARN: Json = {"kind": "learn", "force": False, "level": "head"}
LEARN_RESULT: Json = {
    "taken": True,
    "model": VERSION,
    "verdict": "better",
    "marks": {"last_pair": 7, "last_category": 3, "last_undo": 0},
}
LEASE = "2f6c1d0e9b8a47c5a3f10e5d7c6b8a90"
CLAIM: Json = {"kinds": ["learn"], "new": False, "force": False}
_BEGUN: Json = {"state": "running", "total": None, "done": 0, "failed": 0, "detail": None, "finished": None}
CLAIMED_JOB: Json = JOB | _BEGUN | {"kind": "learn", "lease": LEASE, "lease_s": 60.0, "force": False, "level": "head"}
PROGRESS: Json = {"lease": LEASE, "phase": "learning", "share": 0.4, "seconds_left": 35.0, "detail": None}
GOING_ON: Json = {"state": "running", "lease_s": 60.0}
ENDING: Json = {
    "lease": LEASE,
    "state": "done",
    "detail": "Learned from 560 verdicts: better, so model 3ebcf17f3c258659 took over.",
    "result": LEARN_RESULT,
}
JOB_PAGE: Json = {"jobs": [JOB], "next": None}
FAILURE: Json = {"name": "hats/broken.png", "code": "broken_image", "detail": "The file is cut off or damaged."}

WHO_AM_I: Json = {"role": "writer", "key_id": "6e1f20a4", "name": "Ada", "keys_needed": True}
HEALTH: Json = {"status": "ok"}
CHECK: Json = {"ok": True, "why": None}
READINESS: Json = {
    "status": "ready",
    "model": VERSION,
    "trained": True,
    "checks": {"database": CHECK, "blobs": CHECK, "extractor": CHECK, "index": CHECK},
}

# By the name of the wire model.
EXAMPLES: Mapping[str, Json] = {
    "Problem": PROBLEM,
    "Links": LINKS,
    "Image": IMAGE,
    "ImagePage": IMAGE_PAGE,
    "ImageChanges": CHANGES,
    "BatchItem": BATCH_ITEM,
    "BatchAnswer": BATCH,
    "Explanation": EXPLANATION,
    "Neighbour": NEIGHBOUR,
    "Vote": VOTE,
    "SearchAnswer": SEARCH,
    "SearchOutcome": OUTCOME,
    "SearchBatchAnswer": SEARCH_BATCH,
    "Verdict": VERDICT,
    "Feedback": FEEDBACK,
    "Recorded": RECORDED,
    "Doubt": DOUBT,
    "Suggestion": SUGGESTION,
    "Suggestions": SUGGESTIONS,
    "Undone": UNDONE,
    "GivenGroup": GIVEN_GROUP,
    "GivenVerdict": GIVEN,
    "Group": GROUP,
    "Activation": ACTIVATION,
    "MeasureChange": MEASURE,
    "CategoryChange": CATEGORY,
    "Comparison": COMPARISON,
    "ModelLinks": MODEL_LINKS,
    "ModelSummary": MODEL,
    "ModelDetails": MODEL_DETAILS,
    "CategoryCount": CATEGORY_COUNT,
    "Categories": CATEGORIES,
    "MapPoint": MAP_POINT,
    "Approximation": APPROXIMATION,
    "CollectionMap": COLLECTION_MAP,
    "NewToLearn": NEW,
    "Stats": STATS,
    "Import": IMPORT,
    "Job": JOB,
    "JobFailure": FAILURE,
    "JobPage": JOB_PAGE,
    "Learn": LEARN,
    "LearnResult": LEARN_RESULT,
    "SentResult": LEARN_RESULT,
    "Claim": CLAIM,
    "ClaimedJob": CLAIMED_JOB,
    "Progress": PROGRESS,
    "GoingOn": GOING_ON,
    "Ending": ENDING,
    "WhoAmI": WHO_AM_I,
    "Health": HEALTH,
    "Check": CHECK,
    "Readiness": READINESS,
}
