"""Answers about the collection as a whole."""

from pydantic import BaseModel, Field

from app.contract.models import TRAINED

__all__ = ["Approximation", "Categories", "CategoryCount", "CollectionMap", "MapPoint", "NewToLearn", "Stats"]


class CategoryCount(BaseModel):
    name: str
    images: int


class Categories(BaseModel):
    categories: list[CategoryCount] = Field(description="Most images first, then by name; at most 10,000.")
    without: int = Field(description="Images that have no category.")


class MapPoint(BaseModel):
    """An image on a map."""

    id: str
    x: float = Field(description="0 to 1; the first principal component of the embeddings.")
    y: float = Field(description="0 to 1; the second, to the same scale.")
    category: str | None


class CollectionMap(BaseModel):
    """Images placed so that those lie close together that are alike to the model, as far as a plane can show it."""

    model: str = Field(description="Version of the active model, whose embeddings are shown.")
    trained: bool = TRAINED
    images: int = Field(description="How many there are; there may be points for some of them only.")
    points: list[MapPoint] = Field(description="In random order: the first n are an even sample too.")


class Approximation(BaseModel):
    lists: int = Field(description="That the images are divided into, each with those of one neighbourhood.")
    probed: int = Field(description="Lists that a search looks at, the nearest first.")
    recall: float = Field(description="Share of the ten nearest that it finds, as measured on images of the index.")


class NewToLearn(BaseModel):
    """What nobody has learned from: it came after what the newest model made from feedback knows."""

    verdicts: int = Field(description="Pairs with a new verdict of their own, and new groups, each counted once.")
    categories: int = Field(description="Images whose category was given, changed or taken away.")
    undone: int = Field(description="Verdicts and groups that it knows, and that were taken back since.")
    agreeing: int = Field(
        description="New verdicts and groups that only repeat what the categories say; not in the others."
    )
    total: int = Field(description="verdicts + categories + undone.")


class Stats(BaseModel):
    images: int
    queries: int = Field(description="Uploaded queries that are still kept.")
    pairs: int = Field(description="Pairs with a verdict that counts, those of groups among them.")
    verdicts: int = Field(description="What was said about them: pairs with a verdict of their own, and groups.")
    contradicted: int = Field(description="Of the pairs, those about which people disagree.")
    new: NewToLearn
    model: str = Field(description="Version of the active model.")
    trained: bool = TRAINED
    indexed: int = Field(description="Images that the active model's index holds.")
    approximation: Approximation | None = Field(
        None, description="How searches without a filter are approximated; null: they are exact."
    )
