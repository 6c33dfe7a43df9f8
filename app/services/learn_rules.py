"""How learning is shared out between the service and trainers: settings, and what one process knows about it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event

__all__ = ["LearnRules"]


@dataclass
class LearnRules:
    """`has_trainer` and the last two change while the service runs; each is written by one thread."""

    every: int = 0  # how much must be new for a job to be added by itself; 0: none ever is
    pause: timedelta = timedelta(seconds=300)  # after the last job, before one is added by itself
    lease: timedelta = timedelta(seconds=60)  # how long the trainer of a job may say nothing

    has_trainer: bool = False  # whether this process starts one itself
    opened: datetime = field(default_factory=lambda: datetime.now(UTC))  # trainers could say nothing before
    look_noted: datetime | None = None  # when it was written down last that a trainer has asked for work
    # Set where a job was asked for or cancelled: who looks after trainers need not wait for the next look.
    changed: Event = field(default_factory=Event)
