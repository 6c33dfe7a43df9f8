"""The service, or a command, does not start."""

from app.errors.root import AppError

__all__ = [
    "BackboneMismatch",
    "BadSettings",
    "BadSource",
    "BrokenBackup",
    "CannotStart",
    "DataFolderInUse",
    "NewerDatabase",
    "NotEmpty",
    "OlderDatabase",
]


class CannotStart(AppError):
    """The service refuses to start; nothing was changed."""


class BadSettings(CannotStart):
    """A setting is unknown, out of range or unsafe."""


class DataFolderInUse(CannotStart):
    """Another process owns the data folder or the database file."""


class NewerDatabase(CannotStart):
    """The database was written by a later version of this program."""


class OlderDatabase(CannotStart):
    """The database has not been brought to this version of the program yet, or has no tables at all."""


class NotEmpty(CannotStart):
    """There is something already where a backup should be restored or an export be written."""


class BrokenBackup(CannotStart):
    """The folder is no backup, an unfinished one, or one that is damaged."""


class BadSource(CannotStart):
    """There is nothing that pictures could be read from: no such folder, a CSV without a path column."""


class BackboneMismatch(CannotStart):
    """The collection's stored features come from another backbone than the one at hand."""
