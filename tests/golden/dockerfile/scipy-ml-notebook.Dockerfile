# check=skip=InvalidDefaultArgInFrom;error=true
# scipy-ml-notebook 1.0.0, from images/scipy-ml-notebook/image.yaml: change that, not this.

ARG BASE

FROM ${BASE} AS image
ARG SOURCE_DATE_EPOCH
USER root

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked <<'EOF'
set -eu
export HOME=/root
mamba install --yes --override-channels --channel conda-forge \
    numpy=2.4.6 \
    scipy=1.17.1 \
    matplotlib=3.11.2
EOF

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
export HOME=/root
mamba create --yes --prefix /opt/conda/envs/tensorflow-2.3 --override-channels --channel conda-forge \
    python=3.8.20 \
    pip \
    cudatoolkit=10.1.243 \
    cudnn=7.6.5.32 \
    nccl=2.8.3.1
/opt/conda/envs/tensorflow-2.3/bin/python -m pip install \
    tensorflow==2.3.4 \
    numpy==1.18.5 \
    protobuf==3.20.3 \
    ipykernel==6.29.5
/opt/conda/envs/tensorflow-2.3/bin/python -m ipykernel install \
    --name tensorflow-2.3 --display-name 'TensorFlow 2.3 (CUDA 10.1)' --prefix /opt/conda \
    --env LD_LIBRARY_PATH /opt/conda/envs/tensorflow-2.3/lib
EOF

RUN --mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked \
    --mount=type=cache,id=gpu-commons-pip,target=/root/.cache/pip <<'EOF'
set -eu
export HOME=/root
mamba create --yes --prefix /opt/conda/envs/pytorch-1.7 --override-channels --channel conda-forge \
    python=3.8.20 \
    pip
/opt/conda/envs/pytorch-1.7/bin/python -m pip install \
    --find-links https://download.pytorch.org/whl/torch_stable.html \
    torch==1.7.1+cu101 \
    torchvision==0.8.2+cu101 \
    numpy==1.19.5 \
    pillow==8.4.0 \
    ipykernel==6.29.5
/opt/conda/envs/pytorch-1.7/bin/python -m ipykernel install \
    --name pytorch-1.7 --display-name 'PyTorch 1.7 (CUDA 10.1)' --prefix /opt/conda
EOF

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "scipy-ml-notebook",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "jupyter",
  "packages": [
    "numpy==2.4.6",
    "scipy==1.17.1",
    "matplotlib==3.11.2"
  ],
  "kernels": {
    "tensorflow-2.3": [
      "python=3.8.20",
      "cudatoolkit=10.1.243",
      "cudnn=7.6.5.32",
      "nccl=2.8.3.1",
      "tensorflow==2.3.4",
      "numpy==1.18.5",
      "protobuf==3.20.3",
      "ipykernel==6.29.5"
    ],
    "pytorch-1.7": [
      "python=3.8.20",
      "torch==1.7.1+cu101",
      "torchvision==0.8.2+cu101",
      "numpy==1.19.5",
      "pillow==8.4.0",
      "ipykernel==6.29.5"
    ]
  },
  "substitutes": [],
  "missing": []
}
EOF
USER 1000:100
ARG BASE
LABEL org.opencontainers.image.title="SciPy and machine learning notebook" \
      org.opencontainers.image.description="Scientific Python, and kernels with TensorFlow 2.3 and PyTorch 1.7 for driver 418.88 (CUDA 10.1)" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.base.name="${BASE}" \
      org.gpu-commons.image="scipy-ml-notebook" \
      org.gpu-commons.spec.cuda-line="10.1" \
      org.gpu-commons.spec.frameworks="tensorflow==2.3.4 torch==1.7.1+cu101" \
      org.gpu-commons.spec.packages="numpy==2.4.6 scipy==1.17.1 matplotlib==3.11.2" \
      org.gpu-commons.spec.kernels="tensorflow-2.3 pytorch-1.7"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
