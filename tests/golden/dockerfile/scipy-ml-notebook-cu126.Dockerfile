# check=skip=InvalidDefaultArgInFrom;error=true
# scipy-ml-notebook-cu126 1.0.0, from images/scipy-ml-notebook-cu126/image.yaml: change that, not this.

ARG BASE

FROM ${BASE} AS image
ARG SOURCE_DATE_EPOCH
USER root

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
export HOME=/root
mamba install --yes --override-channels --channel conda-forge \
    numpy=2.4.6 \
    scipy=1.17.1 \
    matplotlib=3.11.2
/opt/conda/bin/python -m pip install \
    torch==2.7.1 \
    torchvision==0.22.1 \
    nvidia-cudnn-cu12==9.5.1.17
EOF

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
export HOME=/root
mamba create --yes --prefix /opt/conda/envs/tensorflow-2.19 --override-channels --channel conda-forge \
    python=3.12.12 \
    pip
/opt/conda/envs/tensorflow-2.19/bin/python -m pip install \
    'tensorflow[and-cuda]==2.19.0' \
    nvidia-cudnn-cu12==9.3.0.75 \
    ipykernel==6.29.5
/opt/conda/envs/tensorflow-2.19/bin/python -m ipykernel install \
    --name tensorflow-2.19 --display-name 'TensorFlow 2.19 (CUDA 12.5)' --prefix /opt/conda
EOF

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "scipy-ml-notebook-cu126",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "jupyter",
  "packages": [
    "numpy==2.4.6",
    "scipy==1.17.1",
    "matplotlib==3.11.2",
    "torch==2.7.1",
    "torchvision==0.22.1",
    "nvidia-cudnn-cu12==9.5.1.17"
  ],
  "kernels": {
    "tensorflow-2.19": [
      "python=3.12.12",
      "tensorflow[and-cuda]==2.19.0",
      "nvidia-cudnn-cu12==9.3.0.75",
      "ipykernel==6.29.5"
    ]
  },
  "substitutes": [],
  "missing": []
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
      org.gpu-commons.spec.kernels="tensorflow-2.19"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
