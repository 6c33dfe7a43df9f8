"""Calls about models, and whether the service is ready."""

from app.client.calls.call import Call, File, bytes_of, file_part, json_of, list_of, nothing_of, path_of, text_of
from app.contract.answers import Job, ModelDetails, ModelSummary, Readiness

__all__ = [
    "activate",
    "delete_model",
    "model",
    "model_file",
    "models",
    "put_report",
    "ready",
    "report",
    "rollback",
    "upload_model",
]


def models() -> Call[list[ModelSummary]]:
    """Every model, the newest first."""
    return Call("GET", path_of("models"), list_of(ModelSummary))


def model(version: str) -> Call[ModelDetails]:
    """One model with its manifest."""
    return Call("GET", path_of("models", version), json_of(ModelDetails))


def model_file(version: str) -> Call[bytes]:
    """The file that it came as."""
    return Call("GET", path_of("models", version, "file"), bytes_of)


def upload_model(file: File) -> Call[ModelDetails]:
    """Bring a model file. It is not active yet."""
    return Call("POST", path_of("models"), json_of(ModelDetails), files=[("file", file_part(file))])


def activate(version: str, *, force: bool = False, learn_job: str | None = None, lease: str | None = None) -> Call[Job]:
    """Start the job that embeds all images with this model and then searches by it. force: although it is worse.

    learn_job, lease: of the learn job that it is a part of, and is cancelled with.
    """
    given = {"force": force or None, "learn_job": learn_job, "lease": lease}
    asked = {name: value for name, value in given.items() if value is not None} or None
    return Call("POST", path_of("models", version, "activate"), json_of(Job), repeatable=False, json=asked)


def rollback() -> Call[Job]:
    """Start the job that activates the model that was active before the active one."""
    return Call("POST", path_of("models", "rollback"), json_of(Job), repeatable=False)


def delete_model(version: str) -> Call[None]:
    """Delete a model that is not in use, with its report."""
    return Call("DELETE", path_of("models", version), nothing_of)


def put_report(version: str, file: File) -> Call[None]:
    """Keep an HTML page about what this model changed, in place of the one it had."""
    return Call("PUT", path_of("models", version, "report"), nothing_of, files=[("file", file_part(file))])


def report(version: str) -> Call[str]:
    """The page about what this model changed. Raises: NotFound if it has none."""
    return Call("GET", path_of("models", version, "report"), text_of)


def ready() -> Call[Readiness]:
    """Whether the service can answer. Asked once. Raises: Unavailable, ConnectionFailed."""
    return Call("GET", "/readyz", json_of(Readiness), repeatable=False)
