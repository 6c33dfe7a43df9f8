"""What goes over the wire, as pydantic models: shared by the service and by its Python client. Shapes only."""
