"""`trainer experiment`: every method on one image set, by the paper's protocol, with a report."""
