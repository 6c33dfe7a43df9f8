"""HTTP: parse, one service call, a response model. No SQL, no numpy, no FAISS here."""
