"""Answers about verdicts and groups."""

from datetime import datetime

from pydantic import BaseModel, Field

__all__ = ["GivenGroup", "GivenVerdict", "Recorded", "Undone"]


class Recorded(BaseModel):
    recorded: int = Field(description="Verdicts about a pair that are kept now.")
    unchanged: int = Field(description="Verdicts that were this person's latest about their pair already.")
    groups: int = Field(0, description="Groups that are kept now.")
    groups_unchanged: int = Field(0, description="Groups of whose pairs this person's latest verdicts said it already.")
    agreeing: int = Field(
        0, description="Of the verdicts and groups that are kept now, those that only repeat what categories say."
    )
    feedback_id: str | None = Field(
        description="By which what was recorded can be taken back; null: nothing was recorded."
    )


class Undone(BaseModel):
    undone: int = Field(description="Verdicts that were taken back now; a group is one.")


class Given(BaseModel):
    """How something was said."""

    given_by: str | None = Field(description="Id of the key that it came with; null: without one.")
    source: str | None
    created: datetime
    feedback_id: str | None = Field(description="Of the call that it came in; null: of a former version.")
    undone: datetime | None = Field(description="When it was taken back; null: it was not.")


class GivenVerdict(Given):
    """A verdict as it was given."""

    left: str
    right: str
    similar: bool


class GivenGroup(Given):
    """A group as it was given, without those of its members that were erased since."""

    same: list[str] = Field(description="Ids of images or queries that are all of one kind.")
    different: list[str] = Field(description="Ids of those that are not of that kind.")
