# The service and the trainer in one image: they share everything that is large.
FROM python:3.11-slim AS build
RUN python -m venv /venv
ENV PATH=/venv/bin:$PATH
WORKDIR /source
# Dependencies first: their layer, by far the largest, is kept while only our code changes.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY embedding/__init__.py embedding/
RUN pip install --no-cache-dir --constraint constraints.txt '.[server,train]'
COPY embedding embedding
COPY trainer trainer
COPY app app
RUN pip install --no-cache-dir --no-deps --force-reinstall .

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home samekind && install -d -o samekind /data
COPY --from=build /venv /venv
# Compiled kernels go where a read-only root file system with a writable /tmp lets them.
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba SAMEKIND_DATA_DIR=/data SAMEKIND_CACHE_DIR=/data/cache
USER samekind
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=5)"]
CMD ["samekind", "serve", "--host", "0.0.0.0"]
