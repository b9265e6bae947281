# check=error=true
# cupy-cuda11 1.0.0, from images/cupy-cuda11/image.yaml: change that, not this.

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
useradd --no-log-init --uid 1000 --gid 100 --create-home --home-dir /home/jovyan --shell /bin/bash jovyan
EOF

ENV LANG="C.UTF-8" \
      LD_LIBRARY_PATH="/opt/venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib"

COPY --chmod=u=rwX,go=rX seen.py /app/seen.py

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-cuda11",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "numpy==2.2.6",
    "cupy-cuda11x==13.6.0",
    "nvidia-cuda-runtime-cu11==11.8.89",
    "nvidia-cuda-nvrtc-cu11==11.8.89"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/home/jovyan
WORKDIR /home/jovyan
USER 1000:100
ENTRYPOINT ["tini", "-g", "--"]
CMD ["python", "-"]
LABEL org.opencontainers.image.title="CuPy for CUDA 11 jobs" \
      org.opencontainers.image.description="CuPy for CUDA 11.8 from PyPI, for programs of jobs; runs on Tesla K80 (3.7) and P100 (6.0) under one driver of R470" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-24T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="cupy-cuda11" \
      org.gpu-commons.spec.cuda-line="11.8" \
      org.gpu-commons.spec.frameworks="cupy-cuda11x==13.6.0" \
      org.gpu-commons.spec.packages="numpy==2.2.6 cupy-cuda11x==13.6.0 nvidia-cuda-runtime-cu11==11.8.89 nvidia-cuda-nvrtc-cu11==11.8.89"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
