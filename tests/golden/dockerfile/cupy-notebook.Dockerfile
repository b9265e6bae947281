# check=error=true
# cupy-notebook 1.0.0, from images/cupy-notebook/image.yaml: change that, not this.
# Targets: server (the default), gateway-client, kernel, batch.

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

FROM base AS system
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
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv <<'EOF'
set -eu
/run/uv/uv venv --python /usr/bin/python3 /opt/venv
EOF
ENV PATH=/opt/venv/bin:$PATH

RUN <<'EOF'
set -eu
useradd --no-log-init --uid 1000 --gid 100 --create-home --home-dir /home/jovyan --shell /bin/bash jovyan
EOF

FROM system AS gateway-client-packages
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.gateway-client.lock,target=/run/requirements.lock <<'EOF'
set -eu
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

FROM system AS batch-packages
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.batch.lock,target=/run/requirements.lock <<'EOF'
set -eu
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

FROM batch-packages AS kernel-packages
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.kernel.lock,target=/run/requirements.lock <<'EOF'
set -eu
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

FROM kernel-packages AS image-packages
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.lock,target=/run/requirements.lock <<'EOF'
set -eu
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

FROM image-packages AS image
ENV LANG="C.UTF-8" \
      SHELL="/bin/bash"
COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-notebook",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "jupyterlab==4.6.6",
    "jupyterhub==5.5.4",
    "ipykernel==7.4.0",
    "numpy==2.4.6",
    "cupy-cuda12x==14.2.0",
    "nvidia-cuda-runtime-cu12==12.9.79",
    "nvidia-cuda-nvrtc-cu12==12.9.86"
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
ENTRYPOINT ["tini", "-g", "--"]
CMD ["jupyterhub-singleuser"]
LABEL org.opencontainers.image.title="CuPy notebook" \
      org.opencontainers.image.description="JupyterLab with CuPy for CUDA 12, all from PyPI; run-time compiler included, cuBLAS and cuFFT not (1.5 GB)" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="cupy-notebook" \
      org.gpu-commons.spec.cuda-line="12.9" \
      org.gpu-commons.spec.frameworks="cupy-cuda12x==14.2.0" \
      org.gpu-commons.spec.packages="jupyterlab==4.6.6 jupyterhub==5.5.4 ipykernel==7.4.0 numpy==2.4.6 cupy-cuda12x==14.2.0 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvrtc-cu12==12.9.86"

FROM gateway-client-packages AS gateway-client
ENV LANG="C.UTF-8" \
      SHELL="/bin/bash"
COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-notebook",
  "target": "gateway-client",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "jupyterlab==4.6.6",
    "jupyterhub==5.5.4",
    "ipykernel==7.4.0"
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
ENTRYPOINT ["tini", "-g", "--"]
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]
LABEL org.opencontainers.image.title="CuPy notebook: server whose kernels run behind a gateway" \
      org.opencontainers.image.description="JupyterLab without CUDA; its kernels run where JUPYTER_GATEWAY_URL says" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="cupy-notebook" \
      org.gpu-commons.target="gateway-client" \
      org.gpu-commons.spec.packages="jupyterlab==4.6.6 jupyterhub==5.5.4 ipykernel==7.4.0"

FROM kernel-packages AS kernel
ENV LANG="C.UTF-8" \
      SHELL="/bin/bash"
COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-notebook",
  "target": "kernel",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "ipykernel==7.4.0",
    "numpy==2.4.6",
    "cupy-cuda12x==14.2.0",
    "nvidia-cuda-runtime-cu12==12.9.79",
    "nvidia-cuda-nvrtc-cu12==12.9.86"
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
CMD ["python", "-m", "ipykernel_launcher"]
LABEL org.opencontainers.image.title="CuPy notebook: kernel for a gateway" \
      org.opencontainers.image.description="IPython kernel with CuPy for CUDA 12, for a gateway to start" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="cupy-notebook" \
      org.gpu-commons.target="kernel" \
      org.gpu-commons.spec.cuda-line="12.9" \
      org.gpu-commons.spec.frameworks="cupy-cuda12x==14.2.0" \
      org.gpu-commons.spec.packages="ipykernel==7.4.0 numpy==2.4.6 cupy-cuda12x==14.2.0 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvrtc-cu12==12.9.86"

FROM batch-packages AS batch
ENV LANG="C.UTF-8" \
      SHELL="/bin/bash"
COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "cupy-notebook",
  "target": "batch",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "numpy==2.4.6",
    "cupy-cuda12x==14.2.0",
    "nvidia-cuda-runtime-cu12==12.9.79",
    "nvidia-cuda-nvrtc-cu12==12.9.86"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/home/jovyan
WORKDIR /home/jovyan
USER 1000:100
ENTRYPOINT ["tini", "-g", "--", "python"]
CMD ["-"]
LABEL org.opencontainers.image.title="CuPy notebook: for batch jobs" \
      org.opencontainers.image.description="CuPy for CUDA 12 and nothing of Jupyter; runs the Python program that it is given" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="cupy-notebook" \
      org.gpu-commons.target="batch" \
      org.gpu-commons.spec.cuda-line="12.9" \
      org.gpu-commons.spec.frameworks="cupy-cuda12x==14.2.0" \
      org.gpu-commons.spec.packages="numpy==2.4.6 cupy-cuda12x==14.2.0 nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvrtc-cu12==12.9.86"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM gateway-client AS verify-gateway-client
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM kernel AS verify-kernel
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM batch AS verify-batch
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image AS server
