"""What jobs do. Each kind is a function of a `Run`; done again from its start it does nothing twice."""
