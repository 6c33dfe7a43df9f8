"""Calls about models, and about the service itself."""

from app.client.calls.call import Call, File, bytes_of, file_part, json_of, list_of, path_of
from app.contract.answers import Job, ModelDetails, ModelSummary, Readiness, Stats

__all__ = ["activate", "model", "model_file", "models", "ready", "stats", "upload_model"]


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


def activate(version: str) -> Call[Job]:
    """Start the job that embeds all images with this model and then searches by it; it is also the way back."""
    return Call("POST", path_of("models", version, "activate"), json_of(Job), repeatable=False)


def stats() -> Call[Stats]:
    """How much there is."""
    return Call("GET", path_of("stats"), json_of(Stats))


def ready() -> Call[Readiness]:
    """Whether the service can answer. Asked once. Raises: Unavailable, ConnectionFailed."""
    return Call("GET", "/readyz", json_of(Readiness), repeatable=False)
