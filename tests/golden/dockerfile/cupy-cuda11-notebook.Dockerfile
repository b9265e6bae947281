# check=skip=InvalidDefaultArgInFrom;error=true
# cupy-cuda11-notebook 1.0.0, from images/cupy-cuda11-notebook/image.yaml: change that, not this.

ARG BASE

FROM docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171 AS tools
RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    python3-venv
rm -f /var/cache/ldconfig/aux-cache
python3 -m venv /opt/uv
/opt/uv/bin/pip install uv==0.13.8
EOF

FROM ${BASE} AS image
ARG SOURCE_DATE_EPOCH
USER root

RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.lock,target=/run/requirements.lock <<'EOF'
set -eu
export HOME=/root
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

ENV SHELL="/bin/bash"

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-cuda11-notebook",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "jupyterlab==4.6.6",
    "jupyterhub==5.5.4",
    "batchspawner==1.3.0",
    "ipykernel==7.4.0"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
USER 1000:100
EXPOSE 8888
ENTRYPOINT ["tini", "-g", "--"]
CMD ["batchspawner-singleuser", "jupyterhub-singleuser"]
ARG BASE
LABEL org.opencontainers.image.title="CuPy for CUDA 11 notebook" \
      org.opencontainers.image.description="JupyterLab with CuPy for CUDA 11.8, for servers that a hub starts through Slurm; runs where cupy-cuda11 does" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-26T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="${BASE}" \
      org.gpu-commons.image="cupy-cuda11-notebook" \
      org.gpu-commons.spec.packages="jupyterlab==4.6.6 jupyterhub==5.5.4 batchspawner==1.3.0 ipykernel==7.4.0"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
