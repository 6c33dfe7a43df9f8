"""Alembic's scripts, run when the service starts."""
