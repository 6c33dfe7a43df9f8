"""The service's own fixtures and those of this folder."""

from tests.app.conftest import _no_settings_from_outside, backbone, draw, model, other_model, postgresql, save, start
from tests.trouble.fixtures import _one_thread, data, mounts, untouched

__all__ = [
    "_no_settings_from_outside",
    "_one_thread",
    "backbone",
    "data",
    "draw",
    "model",
    "mounts",
    "other_model",
    "postgresql",
    "save",
    "start",
    "untouched",
]
