"""The service's own fixtures."""

from tests.app.conftest import _no_settings_from_outside, backbone, model, save

__all__ = ["_no_settings_from_outside", "backbone", "model", "save"]
