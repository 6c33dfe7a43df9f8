"""Vector indexes: nearest neighbours among embeddings. Derived from the database, never the truth."""
