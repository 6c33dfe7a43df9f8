"""What stops the trainer, each with the fact and the remedy.

TrainerError
|-- BadDataset     the folder, the CSV or the pairs cannot be learned from
|-- BadConfig      a setting is out of range
|-- CacheError     the feature cache cannot be used
|-- RanksError     another process that learns along has stopped, or cannot be reached
|-- RunFolderError the run folder belongs to another run, or cannot be resumed
`-- ServiceTrouble the service that is to be updated does not do what it should
"""

__all__ = ["BadConfig", "BadDataset", "CacheError", "RanksError", "RunFolderError", "ServiceTrouble", "TrainerError"]


class TrainerError(Exception):
    """Root of every error that this package raises on purpose."""


class BadDataset(TrainerError):
    """The folder, the CSV or the pairs cannot be learned from."""


class BadConfig(TrainerError):
    """A setting is out of range."""


class CacheError(TrainerError):
    """The feature cache cannot be used: its folder cannot be written, or its file is damaged."""


class RanksError(TrainerError):
    """Another process that learns along has stopped, or cannot be reached."""


class RunFolderError(TrainerError):
    """The run folder belongs to another run, or cannot be resumed."""


class ServiceTrouble(TrainerError):
    """The service that is to be updated does not do what it should."""
