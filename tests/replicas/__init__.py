"""Several replicas of the service, as processes, on one real database, one shared index and one store of files."""
