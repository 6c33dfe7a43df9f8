"""Many pictures at once, from a folder or a list: `samekind ingest`."""
