"""Ways to embed features, all behind one interface: NML, the paper's baselines, and what one would use today."""
