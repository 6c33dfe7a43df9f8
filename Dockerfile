# Two images: `--target server`, which is the default, and `--target trainer`, each a few layers on what both stand on.
# `--build-arg VARIANT=cuda` takes the torch that computes on NVIDIA GPUs, and is several GB larger.
FROM python:3.11.15-slim-bookworm AS core
ARG VARIANT=cpu
# Where the CPU's torch is; the one for GPUs comes from where everything else does.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# Its home is /tmp: the one place to write to, beside /data, when the root file system is read-only.
RUN groupadd --gid 10001 samekind \
    && useradd --uid 10001 --gid samekind --no-create-home --home-dir /tmp --shell /usr/sbin/nologin samekind \
    && install -d -o samekind -g samekind /data \
    && python -m venv /venv
ENV PATH=/venv/bin:$PATH NUMBA_CACHE_DIR=/tmp/numba
WORKDIR /source
# Dependencies without our code: these layers stay while only the code changes.
COPY pyproject.toml constraints.txt LICENSE ./
COPY embedding/__init__.py embedding/
# torch without its dependencies: that index does not have all of them in the versions of constraints.txt.
RUN case "$VARIANT" in \
      cpu) set -- --index-url "$TORCH_INDEX" ;; \
      cuda) set -- ;; \
      *) echo "VARIANT is cpu or cuda, not '$VARIANT'." >&2; exit 1 ;; \
    esac \
    && pip install --no-cache-dir --no-deps --constraint constraints.txt "$@" torch torchvision
RUN pip install --no-cache-dir --constraint constraints.txt .

# Our code, to become the last layer of both: a small one.
FROM core AS package
COPY embedding embedding
COPY trainer trainer
COPY app app
RUN pip install --no-cache-dir --no-deps --prefix /package .

# app.client, which `trainer update` speaks through, is in the package; the service's dependencies are not.
FROM core AS trainer
RUN pip install --no-cache-dir --constraint constraints.txt '.[train]'
COPY --from=package /package /venv
WORKDIR /tmp
# By number: an orchestrator sees that it is not root's.
USER 10001:10001
ENTRYPOINT ["trainer"]

FROM core AS server
RUN pip install --no-cache-dir --constraint constraints.txt '.[server,scale]'
COPY --from=package /package /venv
ENV SAMEKIND_DATA_DIR=/data SAMEKIND_CACHE_DIR=/data/cache
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 8000
# Not by urllib: it would ask the proxy that a container may have been given.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
    CMD ["python", "-c", "\
import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=5); c.request('GET', '/readyz'); \
raise SystemExit(c.getresponse().status != 200)"]
CMD ["samekind", "serve", "--host", "0.0.0.0"]
