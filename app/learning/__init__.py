"""Learn jobs while the service runs: when one is due by itself, and the trainer that runs beside the service."""
