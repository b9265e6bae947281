# check=error=true
# perceptron 1.0.0, from images/perceptron/image.yaml: change that, not this.

FROM nvcr.io/nvidia/tensorflow:25.02-tf2-py3@sha256:c83b37d26f19ab00d8a13cf974edd079c3d099918ec3110c304a989d6e2f75d5 AS base

FROM base AS tools
RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
unset PIP_CONSTRAINT
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
    python3
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
groupadd --gid 1001 perceptron
useradd --no-log-init --uid 1001 --gid 1001 --create-home --home-dir /home/perceptron --shell /bin/bash perceptron
EOF

ENV LANG="C.UTF-8"

RUN <<'EOF'
set -eu
mkdir /logs
chown 1001:1001 /logs
EOF

COPY --chmod=u=rwX,go=rX train.py /app/train.py

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "perceptron",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "numpy==2.4.6",
    "tensorboard==2.21.0",
    "tensorboardX==2.6.5"
  ],
  "folders": [
    "/logs"
  ],
  "kernels": {},
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/home/perceptron
WORKDIR /home/perceptron
USER 1001:1001
EXPOSE 6006
CMD ["tensorboard", "--logdir", "/logs", "--host", "0.0.0.0", "--port", "6006"]
LABEL org.opencontainers.image.title="Perceptron with TensorBoard" \
      org.opencontainers.image.description="NVIDIA's TensorFlow image with TensorBoard on a port, and a program that trains a perceptron and shows what its process got" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-23T00:00:00Z" \
      org.opencontainers.image.licenses="Apache-2.0 AND BSD-3-Clause AND MIT" \
      org.opencontainers.image.base.name="nvcr.io/nvidia/tensorflow:25.02-tf2-py3" \
      org.opencontainers.image.base.digest="sha256:c83b37d26f19ab00d8a13cf974edd079c3d099918ec3110c304a989d6e2f75d5" \
      org.gpu-commons.image="perceptron" \
      org.gpu-commons.spec.cuda-line="12.8" \
      org.gpu-commons.spec.packages="numpy==2.4.6 tensorboard==2.21.0 tensorboardX==2.6.5" \
      org.gpu-commons.runtime.shm-gib="1" \
      org.gpu-commons.runtime.memlock="unlimited" \
      org.gpu-commons.runtime.stack-mib="64"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
