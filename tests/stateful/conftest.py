"""The service's own fixtures, for tests that stand beside its folder."""

from tests.app.conftest import _no_settings_from_outside, backbone, draw, model, other_model, postgresql, save

__all__ = ["_no_settings_from_outside", "backbone", "draw", "model", "other_model", "postgresql", "save"]
