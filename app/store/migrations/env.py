"""Alembic's entry: migrates over the connection that `app.store.database` hands in."""

from alembic import context

from app.store import tables

context.configure(connection=context.config.attributes["connection"], target_metadata=tables.metadata)
with context.begin_transaction():
    context.run_migrations()
