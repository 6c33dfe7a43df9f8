"""Which of several processes this one is, as torchrun says in the environment; loads without torch."""

import os
from dataclasses import dataclass

from trainer.config import OnePair, TrainConfig
from trainer.errors import BadConfig, RanksError

__all__ = ["Launch"]


@dataclass(frozen=True)
class Launch:
    """One process of `count`; without torchrun the only one."""

    rank: int = 0
    local_rank: int = 0  # among those of this machine
    count: int = 1

    @classmethod
    def of_environment(cls) -> "Launch":
        if "TORCHELASTIC_RUN_ID" not in os.environ:
            return cls()
        return cls(*(int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")))

    def check(self, config: TrainConfig) -> None:
        """Raises: BadConfig where several processes cannot learn together what is asked for."""
        if self.count > 1 and isinstance(config.optimiser, OnePair):
            raise BadConfig(
                f"--optimiser one-pair takes one pair after the other, which {self.count} processes cannot share: "
                "start it without torchrun, or choose --optimiser mini-batch."
            )

    def check_alone(self, command: str) -> None:
        """For commands that would do the same in every process. Raises: BadConfig."""
        if self.count > 1:
            raise BadConfig(f"trainer {command} is for one process, got {self.count}: start it without torchrun.")

    def tells(self, error: Exception) -> bool:
        """Whether this process tells the error at once.

        Mistakes in settings are made in all processes alike, and trouble with another process is known to all: the
        first one of each machine tells these.
        """
        return self.local_rank == 0 or not isinstance(error, BadConfig | RanksError)
