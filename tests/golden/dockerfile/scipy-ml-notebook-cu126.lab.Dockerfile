# check=skip=InvalidDefaultArgInFrom;error=true
# scipy-ml-notebook-cu126 1.0.0, from images/scipy-ml-notebook-cu126/image.yaml: change that, not this.
#
# Not what the spec asks for, because this site cannot reach it:
#   quay.io/jupyter/datascience-notebook:2026-08-24 → 127.0.0.1:5000/lab/debian@sha256:1111111111111111111111111111111111111111111111111111111111111111 (not reachable from here)
#   conda-forge → nothing (not reachable from here)
# Left out:
#   python=3.12.12, tensorflow[and-cuda]==2.19.0, nvidia-cudnn-cu12==9.3.0.75, ipykernel==6.29.5

ARG BASE

FROM 127.0.0.1:5000/lab/debian@sha256:1111111111111111111111111111111111111111111111111111111111111111 AS tools
RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip \
    --mount=type=bind,from=ca,target=/run/site-ca <<'EOF'
set -eu
export PIP_CERT=/run/site-ca/ca-certificates.crt
apt-get update --option Acquire::https::CAInfo=/run/site-ca/ca-certificates.crt
apt-get install --yes --no-install-recommends --option Acquire::https::CAInfo=/run/site-ca/ca-certificates.crt \
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
    --mount=type=bind,source=requirements.lock,target=/run/requirements.lock \
    --mount=type=bind,from=ca,target=/run/site-ca <<'EOF'
set -eu
export SSL_CERT_FILE=/run/site-ca/ca-certificates.crt
export HOME=/root
touch /dev/shm/before
/run/uv/uv pip install --python /opt/venv/bin/python \
    --require-hashes --only-binary :all: --link-mode copy \
    --requirement /run/requirements.lock
find /opt/venv/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*' \
    | /opt/venv/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :
EOF

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "scipy-ml-notebook-cu126",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "numpy==2.4.6",
    "scipy==1.17.1",
    "matplotlib==3.11.2",
    "torch==2.7.1",
    "torchvision==0.22.1",
    "nvidia-cudnn-cu12==9.5.1.17"
  ],
  "kernels": {},
  "substitutes": [
    "quay.io/jupyter/datascience-notebook:2026-08-24",
    "conda-forge"
  ],
  "missing": [
    "python=3.12.12",
    "tensorflow[and-cuda]==2.19.0",
    "nvidia-cudnn-cu12==9.3.0.75",
    "ipykernel==6.29.5"
  ]
}
EOF
USER 1000:100
ARG BASE
LABEL org.opencontainers.image.title="SciPy and machine learning notebook for CUDA 12" \
      org.opencontainers.image.description="Scientific Python with PyTorch 2.7 (CUDA 12.6), and a kernel with TensorFlow 2.19 (CUDA 12.5), for driver 580" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.base.name="${BASE}" \
      org.gpu-commons.image="scipy-ml-notebook-cu126" \
      org.gpu-commons.spec.cuda-line="12.5 12.6" \
      org.gpu-commons.spec.frameworks="torch==2.7.1 tensorflow[and-cuda]==2.19.0" \
      org.gpu-commons.spec.packages="numpy==2.4.6 scipy==1.17.1 matplotlib==3.11.2 torch==2.7.1 torchvision==0.22.1 nvidia-cudnn-cu12==9.5.1.17" \
      org.gpu-commons.spec.kernels="tensorflow-2.19" \
      org.gpu-commons.lab.substitute="quay.io/jupyter/datascience-notebook:2026-08-24 conda-forge" \
      org.gpu-commons.lab.missing="python=3.12.12 tensorflow[and-cuda]==2.19.0 nvidia-cudnn-cu12==9.3.0.75 ipykernel==6.29.5"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
