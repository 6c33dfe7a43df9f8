"""What can go wrong with an image, with features, with pairs and with a model file.

    EmbeddingError
    |-- BadImage                 the bytes are no picture that we can use
    |   |-- UnsupportedImage     not an image, or a format that is not on the list
    |   |-- BrokenImage          the right format, but truncated or damaged
    |   `-- ImageTooLarge        over the byte limit or the pixel limit
    |-- BadFeatures              NaN, negative, or of another D than the embedding
    |-- BadPairs                 no pairs, a self pair, a line that is none
    |-- BackboneUnavailable      unknown name, or its weights are not on this machine
    `-- ModelFileError           the model file cannot be used
        |-- BrokenModelFile      not a model file, truncated, or its checksum differs
        |-- NewerModelFile       written by a later version of the format
        `-- ModelMismatch        made for another backbone or another D

Each message says what is wrong, with which value, and what to do about it.
"""

__all__ = [
    "BackboneUnavailable",
    "BadFeatures",
    "BadImage",
    "BadPairs",
    "BrokenImage",
    "BrokenModelFile",
    "EmbeddingError",
    "ImageTooLarge",
    "ModelFileError",
    "ModelMismatch",
    "NewerModelFile",
    "UnsupportedImage",
]


class EmbeddingError(Exception):
    """Root of every error that this package raises on purpose."""


class BadImage(EmbeddingError):
    """The bytes are no picture that we can use."""


class UnsupportedImage(BadImage):
    """Not an image at all, or a format that is not on the list of supported ones."""


class BrokenImage(BadImage):
    """A supported format, but truncated or damaged."""


class ImageTooLarge(BadImage):
    """Over the limit of bytes or of pixels; refused before the pixels are decoded."""


class BadFeatures(EmbeddingError):
    """Features with NaN, with negative values, or of another D than expected."""


class BadPairs(EmbeddingError):
    """Pairs that say nothing: none at all, an image with itself, a line that is no pair."""


class BackboneUnavailable(EmbeddingError):
    """The backbone is not known by that name, or its weights are not on this machine."""


class ModelFileError(EmbeddingError):
    """The model file cannot be used."""


class BrokenModelFile(ModelFileError):
    """Not a model file, truncated, or its checksum differs."""


class NewerModelFile(ModelFileError):
    """Written by a later version of the format than this program knows."""


class ModelMismatch(ModelFileError):
    """A model file made for another backbone or another D than the one at hand."""
