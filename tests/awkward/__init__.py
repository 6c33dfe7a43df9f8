"""Awkward image files, made in code, each with the answer that the service owes it (as a table: docs/images.md)."""
