"""The service that people write first, in one file: FastAPI, PIL, torch eager, FAISS. Others are measured against it.

    python -m benchmarks.straightforward FOLDER

FOLDER holds `projection.npy` (D, d), `mean.npy` (D,), as PCA gives them, and `embeddings.npy` (n, d). It has the same
network and weights as ours, the preprocessing that the network was trained with, and torch's and FAISS's own defaults.
It keeps nothing, checks nothing and knows no metadata.
"""

import sys
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch
import uvicorn
from fastapi import FastAPI, UploadFile
from PIL import Image
from torchvision import transforms

from embedding.recipes import DEFAULT_BACKBONE, recipe_for

__all__ = ["make_app"]

_TRANSFORM = transforms.Compose(
    [
        transforms.Resize(256, interpolation=transforms.InterpolationMode.BICUBIC),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    ]
)


def make_app(folder: Path) -> FastAPI:
    recipe = recipe_for(DEFAULT_BACKBONE)  # timm's tf_efficientnet_lite0 without its classifier
    network = recipe.build(recipe.weights(False)).eval()
    mean, projection = np.load(folder / "mean.npy"), np.load(folder / "projection.npy")
    embeddings = np.load(folder / "embeddings.npy")
    index: Any = faiss.IndexFlatL2(embeddings.shape[1])
    index.add(embeddings)
    app = FastAPI()

    @app.post("/search")
    def search(file: UploadFile, k: int = 10) -> dict[str, Any]:
        image = Image.open(file.file).convert("RGB")
        with torch.inference_mode():
            features = network(_TRANSFORM(image).unsqueeze(0)).numpy()
        distances, ids = index.search((features - mean) @ projection, k)
        return {"ids": ids[0].tolist(), "distances": distances[0].tolist()}

    return app


if __name__ == "__main__":
    uvicorn.run(make_app(Path(sys.argv[1])), host="127.0.0.1", port=0)
