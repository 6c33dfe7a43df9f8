"""`make demo`: a collection, a trained model and a running service from nothing."""
