"""The service: stores pictures, finds those of the same kind, and collects what people say about them.

Layers, each importing only those to its right: `cli` -> `main` -> `api` -> `services` -> `ports` and `records`.
`store`, `index` and `extractor` implement the ports; `main` alone knows which implementation is in use.
"""
