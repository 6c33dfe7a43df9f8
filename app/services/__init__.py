"""What the service does, in terms of ports: no HTTP, no SQL, no FAISS."""
