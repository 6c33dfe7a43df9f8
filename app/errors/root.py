"""The root of all errors, and values in their messages."""

__all__ = ["AppError", "shown"]


def shown(value: object) -> str:
    """A value that a client chose, for a message, which goes into answers and logs: some of it, as ASCII."""
    text = value if isinstance(value, str) else str(value)
    short = text if len(text) <= 60 else text[:57] + "..."
    return ascii(short) if isinstance(value, str) else short


class AppError(Exception):
    """Root of every error that this package raises on purpose."""
