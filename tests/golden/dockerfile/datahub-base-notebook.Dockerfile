# check=error=true
# datahub-base-notebook 1.0.0, from images/datahub-base-notebook/image.yaml: change that, not this.

FROM quay.io/jupyter/datascience-notebook:2026-08-24@sha256:e5029672ab8a861345f117dc466a4dab91ad7c299f3c7c853b9b193860b16aaf AS base

FROM base AS image
ARG SOURCE_DATE_EPOCH
USER root

RUN --mount=type=cache,id=gpu-commons-ubuntu-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-ubuntu-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    ca-certificates \
    git \
    tini
rm -f /var/cache/ldconfig/aux-cache
EOF

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked <<'EOF'
set -eu
export HOME=/root
mamba install --yes --override-channels --channel conda-forge \
    jupyterlab=4.6.6 \
    jupyterhub-singleuser=5.5.4 \
    ipykernel=7.4.0 \
    nbgitpuller=1.3.0
EOF

ENV LANG="C.UTF-8" \
      SHELL="/bin/bash"

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "datahub-base-notebook",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "jupyter",
  "packages": [
    "jupyterlab==4.6.6",
    "jupyterhub==5.5.4",
    "ipykernel==7.4.0",
    "nbgitpuller==1.3.0"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/home/jovyan
WORKDIR /home/jovyan
USER 1000:100
EXPOSE 8888
CMD ["jupyterhub-singleuser"]
LABEL org.opencontainers.image.title="DataHub base notebook" \
      org.opencontainers.image.description="JupyterLab that a hub can start, on the Jupyter data science image; base of all course images" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.base.name="quay.io/jupyter/datascience-notebook:2026-08-24" \
      org.opencontainers.image.base.digest="sha256:e5029672ab8a861345f117dc466a4dab91ad7c299f3c7c853b9b193860b16aaf" \
      org.gpu-commons.image="datahub-base-notebook" \
      org.gpu-commons.spec.packages="jupyterlab==4.6.6 jupyterhub==5.5.4 ipykernel==7.4.0 nbgitpuller==1.3.0"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
