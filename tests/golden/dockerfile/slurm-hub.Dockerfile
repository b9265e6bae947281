# check=error=true
# slurm-hub 1.0.0, from images/slurm-hub/image.yaml: change that, not this.

FROM docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171 AS base

FROM base AS tools
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

FROM base AS image
ARG SOURCE_DATE_EPOCH

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    ca-certificates \
    openssh-client \
    python3 \
    tini
rm -f /var/cache/ldconfig/aux-cache
EOF

RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.lock,target=/run/requirements.lock <<'EOF'
set -eu
/run/uv/uv venv --python /usr/bin/python3 /opt/venv
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF
ENV PATH=/opt/venv/bin:$PATH

RUN <<'EOF'
set -eu
groupadd --gid 1000 hub
useradd --no-log-init --uid 1000 --gid 1000 --create-home --home-dir /srv/jupyterhub --shell /bin/bash hub
EOF

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "slurm-hub",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "jupyterhub==5.5.4",
    "batchspawner==1.3.0",
    "jupyterhub-idle-culler==2.0.0",
    "oauthenticator==17.4.0",
    "jupyterhub-ltiauthenticator==1.6.3"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/srv/jupyterhub
WORKDIR /srv/jupyterhub
USER 1000:1000
EXPOSE 8081
ENTRYPOINT ["tini", "-g", "--"]
CMD ["jupyterhub"]
LABEL org.opencontainers.image.title="JupyterHub for a cluster with Slurm" \
      org.opencontainers.image.description="Hub with batchspawner, an ssh client for its jobs, the culler of idle servers, and authenticators for OAuth and LTI" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-26T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="slurm-hub" \
      org.gpu-commons.spec.packages="jupyterhub==5.5.4 batchspawner==1.3.0 jupyterhub-idle-culler==2.0.0 oauthenticator==17.4.0 jupyterhub-ltiauthenticator==1.6.3"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
