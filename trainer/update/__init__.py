"""`trainer update`: from the verdicts that a service has collected to its next model, over the HTTP API alone."""
