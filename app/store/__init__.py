"""What outlives the process: the database (the truth) and the blobs (the originals)."""
