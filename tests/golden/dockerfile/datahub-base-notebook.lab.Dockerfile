# check=error=true
# datahub-base-notebook 1.0.0, from images/datahub-base-notebook/image.yaml: change that, not this.
#
# Not what the spec asks for, because this site cannot reach it:
#   quay.io/jupyter/datascience-notebook:2026-08-24 → 127.0.0.1:5000/lab/debian@sha256:1111111111111111111111111111111111111111111111111111111111111111 (not reachable from here)

FROM 127.0.0.1:5000/lab/debian@sha256:1111111111111111111111111111111111111111111111111111111111111111 AS base

FROM base AS tools
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

FROM base AS image
ARG SOURCE_DATE_EPOCH

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log \
    --mount=type=bind,from=ca,target=/run/site-ca <<'EOF'
set -eu
apt-get update --option Acquire::https::CAInfo=/run/site-ca/ca-certificates.crt
apt-get install --yes --no-install-recommends --option Acquire::https::CAInfo=/run/site-ca/ca-certificates.crt \
    ca-certificates \
    git \
    python3 \
    tini
rm -f /var/cache/ldconfig/aux-cache
EOF

RUN --mount=type=cache,id=gpu-commons-uv,target=/root/.cache/uv \
    --mount=type=bind,from=tools,source=/opt/uv/bin,target=/run/uv \
    --mount=type=bind,source=requirements.lock,target=/run/requirements.lock \
    --mount=type=bind,from=ca,target=/run/site-ca <<'EOF'
set -eu
export SSL_CERT_FILE=/run/site-ca/ca-certificates.crt
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
      SHELL="/bin/bash"

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "datahub-base-notebook",
  "version": "1.0.0",
  "origin": "spec",
  "layout": "debian",
  "packages": [
    "jupyterlab==4.6.6",
    "jupyterhub==5.5.4",
    "ipykernel==7.4.0",
    "nbgitpuller==1.3.0"
  ],
  "kernels": {},
  "substitutes": [
    "quay.io/jupyter/datascience-notebook:2026-08-24"
  ],
  "missing": []
}
EOF
ENV HOME=/home/jovyan
WORKDIR /home/jovyan
USER 1000:100
EXPOSE 8888
ENTRYPOINT ["tini", "-g", "--"]
CMD ["jupyterhub-singleuser"]
LABEL org.opencontainers.image.title="DataHub base notebook" \
      org.opencontainers.image.description="JupyterLab that a hub can start, on the Jupyter data science image; base of all course images" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.created="2026-11-21T00:00:00Z" \
      org.opencontainers.image.licenses="BSD-3-Clause" \
      org.opencontainers.image.base.name="127.0.0.1:5000/lab/debian" \
      org.opencontainers.image.base.digest="sha256:1111111111111111111111111111111111111111111111111111111111111111" \
      org.gpu-commons.image="datahub-base-notebook" \
      org.gpu-commons.spec.packages="jupyterlab==4.6.6 jupyterhub==5.5.4 ipykernel==7.4.0 nbgitpuller==1.3.0" \
      org.gpu-commons.lab.substitute="quay.io/jupyter/datascience-notebook:2026-08-24"

FROM image AS verify
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
