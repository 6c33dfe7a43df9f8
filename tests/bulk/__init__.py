"""Bulk work by the real command, with real Ray workers, on a real PostgreSQL with pgvector."""
