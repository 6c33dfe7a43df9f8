"""Learns the metric: images or pairs in, a model file out, with the paper's evaluation beside it."""
