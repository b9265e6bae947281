# check=error=true
# engine-filter 1.0.0, from images/engine-filter/image.yaml: change that, not this.

FROM docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171 AS base

FROM base AS image
ARG SOURCE_DATE_EPOCH

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    haproxy \
    tini
rm -f /var/cache/ldconfig/aux-cache
EOF

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "engine-filter",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/tmp
WORKDIR /tmp
USER 65534:65534
ENTRYPOINT ["tini", "-g", "--"]
CMD ["haproxy", "-f", "/etc/gpu-commons/engine_filter.cfg"]
LABEL org.opencontainers.image.title="Filter for a Docker engine" \
      org.opencontainers.image.description="HAProxy, which lets a hub use the few calls of a Docker engine that it needs" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-23T00:00:00Z" \
      org.opencontainers.image.licenses="GPL-2.0-or-later" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="engine-filter"

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
