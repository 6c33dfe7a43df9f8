"""Every endpoint once: functions that make the calls, which both clients send."""

from app.client.calls.batches import add_images
from app.client.calls.feedback import feedback, feedback_history, give_feedback, undo_feedback
from app.client.calls.images import add_image, change_image, delete_image, image, image_file, images, thumbnail
from app.client.calls.jobs import (
    cancel_job,
    claim_job,
    finish_job,
    job,
    job_failures,
    jobs,
    learn,
    reindex,
    report_progress,
    start_import,
)
from app.client.calls.models import (
    activate,
    delete_model,
    model,
    model_file,
    models,
    put_report,
    ready,
    report,
    rollback,
    upload_model,
)
from app.client.calls.overview import categories, collection_map, stats, who_am_i
from app.client.calls.searches import (
    search,
    search_batch,
    search_by_examples,
    search_by_id,
    search_by_url,
    search_files,
)
from app.client.calls.suggestions import suggestions
from app.client.calls.training import training_set

__all__ = [
    "activate",
    "add_image",
    "add_images",
    "cancel_job",
    "categories",
    "change_image",
    "claim_job",
    "collection_map",
    "delete_image",
    "delete_model",
    "feedback",
    "feedback_history",
    "finish_job",
    "give_feedback",
    "image",
    "image_file",
    "images",
    "job",
    "job_failures",
    "jobs",
    "learn",
    "model",
    "model_file",
    "models",
    "put_report",
    "ready",
    "reindex",
    "report",
    "report_progress",
    "rollback",
    "search",
    "search_batch",
    "search_by_examples",
    "search_by_id",
    "search_by_url",
    "search_files",
    "start_import",
    "stats",
    "suggestions",
    "thumbnail",
    "training_set",
    "undo_feedback",
    "upload_model",
    "who_am_i",
]
