"""JSON bodies of requests, and the fields of multipart ones."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, StringConstraints, WithJsonSchema, model_validator

__all__ = [
    "MAX_EXAMPLES",
    "MAX_MEMBERS",
    "MAX_QUERIES",
    "Activation",
    "Box",
    "ExamplesQuery",
    "Feedback",
    "FileFields",
    "FileOptions",
    "Group",
    "ImageChanges",
    "ImageQuery",
    "Import",
    "SearchBatch",
    "SearchOptions",
    "SearchQuery",
    "UrlQuery",
    "Verdict",
]

MAX_EXAMPLES = 100  # positives and negatives of one search, each
MAX_QUERIES = 64  # in one batch
MAX_MEMBERS = 100  # of a group

# An id as a request may give it; whether it exists is asked later, so only its length is limited here.
Reference = Annotated[str, StringConstraints(min_length=1, max_length=200)]
# A share of a picture's width or height.
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
# A text is no number, and 1 is not true: what the schema says is what is taken.
WholeNumber = Annotated[int, Field(strict=True)]
Number = Annotated[float, Field(strict=True)]
Truth = Annotated[bool, Field(strict=True)]
# What it holds is checked where it is compared: pydantic would look at each of a hundred thousand members, and make
# several errors of it.
Filter = Annotated[
    dict[str, Any],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
            "maxProperties": 32,
        }
    ),
]


class Body(BaseModel):
    """A body, or a part of one. What is wrong with it must not cost much: it is told with the first fault found."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, value: Any) -> Any:
        """The first of them; pydantic would make an error of each, and a body has room for a million."""
        unknown = (
            next((name for name in value if name not in cls.model_fields), None) if isinstance(value, dict) else None
        )
        if unknown is not None:
            raise ValueError(f"there is no field {unknown[:50]!a} here")
        return value


class ImageChanges(Body):
    category: str | None = Field(None, description="Up to 200 characters; null removes it.")
    metadata: dict[str, Any] | None = Field(
        None, description="Members to set, null for those to remove; null instead of an object removes all."
    )


class FileFields(Body):
    """What a batch says of one of its files."""

    id: str | None = Field(None, description="1 to 200 letters, digits, . _ : -; left out: one is made.")
    category: str | None = Field(None, description="Up to 200 characters.")
    metadata: dict[str, Any] | None = None


class Activation(Body):
    force: Truth = Field(False, description="Activate a model that was compared and found worse all the same.")
    learn_job: str | None = Field(
        None,
        max_length=32,
        description="The learn job that this is a part of, if its trainer asks: cancelling that cancels this.",
    )
    lease: str | None = Field(None, pattern="^[0-9a-z-]{1,32}$", description="Of that learn job.")


class Import(Body):
    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)] = Field(
        description="A folder of category folders, or a CSV (path[,id][,category][,metadata]), inside the folder for "
        "imports.",
        examples=["holidays/list.csv"],
    )


class Verdict(Body):
    left: Reference = Field(description="Id of an image or of a query; the order of the two means nothing.")
    right: Reference
    similar: bool


class Group(Body):
    """Images or queries of one kind, and some that are not of it: a verdict about each two of the former, and about
    each of them with each of the latter. Of two of the latter nothing is said. 100 ids at most."""

    same: Annotated[list[Reference], FailFast()] = Field(
        min_length=1, max_length=MAX_MEMBERS, description="Ids of images or queries that are all of one kind."
    )
    different: Annotated[list[Reference], FailFast()] = Field(
        default_factory=list, max_length=MAX_MEMBERS, description="Ids of those that are not of that kind."
    )


class Feedback(Body):
    """Verdicts, groups or both: at least one of them; all are recorded or none."""

    # Fail fast: the errors of 10,000 verdicts would take longer than 10,000 good ones.
    pairs: Annotated[list[Verdict], FailFast()] = Field(
        default_factory=list, description="At most 10,000 verdicts, those that the groups mean counted."
    )
    groups: Annotated[list[Group], FailFast()] = Field(
        default_factory=list, description="Each is kept, and taken back, as one verdict."
    )
    source: str | None = Field(None, description="Who says so, or by what means; free text, 200 characters.")


class Box(Body):
    """A part of a picture, in shares of its width and height, after its EXIF rotation; (0, 0) is the upper left."""

    left: Share = 0.0
    top: Share = 0.0
    right: Share = 1.0
    bottom: Share = 1.0


class SearchOptions(Body):
    """What every search may say."""

    k: WholeNumber = Field(10, description="How many neighbours.", json_schema_extra={"minimum": 1})
    offset: WholeNumber = Field(
        0,
        description="How many of the nearest to pass over; k + offset has the limit of k.",
        json_schema_extra={"minimum": 0},
    )
    category: str | None = Field(None, description="Only images of that category.")
    metadata: Filter | None = Field(
        None, description='Only images whose metadata have these members, such as `{"shelf": 7}`.'
    )
    max_squared_distance: Number | None = Field(
        None, description="Only images at most that far away; 0 or more.", json_schema_extra={"minimum": 0}
    )
    explain: Truth = Field(
        False, description="Whether to say what each squared distance is made of; then k has a limit of 100."
    )


class FileOptions(SearchOptions):
    """Of a search by upload: fields of the multipart body beside `file`."""

    crop: Box | None = Field(None, description="The part of the picture to search by.")


class ImageQuery(FileOptions):
    """By a stored image, which is left out of its neighbours."""

    by: Literal["image"]
    image_id: Reference


class UrlQuery(FileOptions):
    """By a picture elsewhere; only from hosts that the service may fetch from."""

    by: Literal["url"]
    url: Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class ExamplesQuery(SearchOptions):
    """By several images or queries: more like the positives, less like the negatives; all are left out."""

    by: Literal["examples"]
    positives: Annotated[list[Reference], Field(min_length=1, max_length=MAX_EXAMPLES)] = Field(
        description="Ids of images, or query ids of earlier searches by upload."
    )
    negatives: Annotated[list[Reference], Field(max_length=MAX_EXAMPLES)] = Field(default_factory=list)


SearchQuery = Annotated[ImageQuery | ExamplesQuery | UrlQuery, Field(discriminator="by")]


class SearchBatch(Body):
    queries: Annotated[list[SearchQuery], FailFast()] = Field(
        min_length=1, max_length=MAX_QUERIES, description="Each is answered by itself; one that fails fails alone."
    )
