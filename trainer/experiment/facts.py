"""What an image set is, and what is odd about it, for the head of the report."""

from collections import defaultdict
from collections.abc import Iterable

from embedding.backbone import Backbone
from trainer.box import Item, name_of
from trainer.dataset import Source
from trainer.experiment.results import ImageSetFacts
from trainer.image_set import ImageSet
from trainer.membership import SEPARATOR

__all__ = ["describe"]

# Names that a note lists before it says "and N more".
_NAMES = 5


def describe(source: Source, images: ImageSet, train: ImageSet, test: ImageSet, backbone: Backbone) -> ImageSetFacts:
    """Facts and oddities. images: all that could be read; train and test: its parts, as they are used."""
    sizes = [part.class_sizes for part in (train, test)]
    names = sorted(set(sizes[0]) | set(sizes[1]))
    classes = {name: (sizes[0].get(name, 0), sizes[1].get(name, 0)) for name in names}
    return ImageSetFacts(
        name=source.origin.stem or str(source.origin),
        backbone=backbone.identity.name,
        feature_dim=backbone.feature_dim,
        train_images=len(train.digests),
        test_images=len(test.digests),
        classes=classes,
        notes=[*source.notes, *_notes(images, train, classes)],
        bad=images.bad,
    )


def _notes(images: ImageSet, train: ImageSet, classes: dict[str, tuple[int, int]]) -> Iterable[str]:
    groups = _identical(images)
    if groups:
        shown = _listed([" = ".join(map(name_of, group[:_NAMES])) for group in groups])
        yield f"{len(groups)} groups of files have identical contents: {shown}."
    if both := sum(_is_split(train, group) for group in groups):
        yield f"{both} of these contents are in the training part and in the test part too."
    if unlearned := [name for name, (trained, _) in classes.items() if trained == 0]:
        yield f"Classes without a training image: {_listed(unlearned)}."
    if single := [name for name, (_, tested) in classes.items() if tested == 1]:
        yield f"Classes with a single test image, which has nothing to find and scores 0: {_listed(single)}."
    if untested := [name for name, (_, tested) in classes.items() if tested == 0]:
        yield f"Classes without a test image: {_listed(untested)}."
    if several := sum(SEPARATOR in label for label in train.labels or []):
        yield f"{several} training images have several labels: methods that need one label each leave them out."


def _identical(images: ImageSet) -> list[list[Item]]:
    """Groups of two files or more with one content, in the order of their names. Boxes are contents of their own."""
    groups: dict[bytes, list[Item]] = defaultdict(list)
    items = sorted(zip(images.digests, images.paths, images.boxes, strict=True), key=lambda row: (row[1], row[2] or ()))
    for digest, path, box in items:
        groups[digest].append((path, box))
    return [group for group in groups.values() if len(group) > 1]


def _is_split(train: ImageSet, group: list[Item]) -> bool:
    """Whether a group of identical files has members in both parts."""
    trained = set(zip(train.paths, train.boxes, strict=True))
    return len({item in trained for item in group}) == 2


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
