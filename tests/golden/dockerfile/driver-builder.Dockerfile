# check=error=true
# driver-builder 535-6.1.0-56-cloud-amd64-debian12, from images/driver-builder/image.yaml: change that, not this.

FROM docker.io/library/debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171 AS base

FROM base AS driver-source
RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do if [ -f "$list" ]; then sed -i -E 's/^(deb .* main|Components: main)$/\1 contrib non-free non-free-firmware/' "$list"; fi; done
apt-get update
apt-get install --yes --no-install-recommends \
    xz-utils
rm -f /var/cache/ldconfig/aux-cache
mkdir /driver
cd /driver
apt-get download nvidia-kernel-source
found=$(dpkg-deb --field ./*.deb Version)
case "$found" in 535.309.01-*) ;; *) echo "nvidia-kernel-source is $found, the spec says 535.309.01" >&2; exit 1;; esac
dpkg-deb --extract ./*.deb deb
tar --extract --file deb/usr/src/*.tar.xz
rm -r deb ./*.deb
printf 'thrown away, source: %s\n' "$(du --summarize --block-size=1 /driver)"
EOF

FROM base AS modules

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
apt-get update
apt-get install --yes --no-install-recommends \
    gcc \
    kmod \
    libc6-dev \
    linux-headers-6.1.0-56-cloud-amd64 \
    make
rm -f /var/cache/ldconfig/aux-cache
printf 'thrown away, base with compiler and headers: %s\n' "$(du --summarize --block-size=1 /usr)"
EOF

RUN --network=none \
    --mount=type=bind,from=driver-source,source=/driver,target=/run/driver,rw <<'EOF'
set -eu
cd /run/driver/modules/*/
make --jobs "$(nproc)" KERNEL_UNAME=6.1.0-56-cloud-amd64 \
    NV_EXCLUDE_KERNEL_MODULES='nvidia-drm nvidia-peermem' \
    modules
mkdir --parents /out/lib/modules/6.1.0-56-cloud-amd64/extra
for module in nvidia nvidia-uvm nvidia-modeset; do
  strip --strip-debug -o "/out/lib/modules/6.1.0-56-cloud-amd64/extra/$module.ko" "$module.ko"
done
depmod --basedir /out 6.1.0-56-cloud-amd64
printf 'thrown away, source with objects: %s\n' "$(du --summarize --block-size=1 /run/driver)"
EOF

FROM base AS image
ARG SOURCE_DATE_EPOCH

RUN --mount=type=cache,id=gpu-commons-debian-lists,target=/var/lib/apt/lists,sharing=locked \
    --mount=type=cache,id=gpu-commons-debian-archives,target=/var/cache/apt,sharing=locked \
    --mount=type=tmpfs,target=/var/log <<'EOF'
set -eu
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do if [ -f "$list" ]; then sed -i -E 's/^(deb .* main|Components: main)$/\1 contrib non-free non-free-firmware/' "$list"; fi; done
apt-get update
apt-get install --yes --no-install-recommends \
    firmware-nvidia-gsp \
    kmod \
    libcuda1 \
    libnvidia-ml1 \
    nvidia-modprobe \
    nvidia-persistenced \
    nvidia-smi
rm -f /var/cache/ldconfig/aux-cache
EOF

COPY --link --from=modules /out/lib/modules/6.1.0-56-cloud-amd64 /opt/driver/lib/modules/6.1.0-56-cloud-amd64

COPY --chmod=u=rwx,go=rx load-driver /usr/local/bin/load-driver

COPY <<'EOF' /usr/local/share/gpu-commons/image.json
{
  "image": "driver-builder",
  "version": "535-6.1.0-56-cloud-amd64-debian12",
  "origin": "spec",
  "layout": "debian",
  "packages": [],
  "kernels": {},
  "modules": {
    "driver": "535.309.01",
    "kernel": "6.1.0-56-cloud-amd64"
  },
  "substitutes": [],
  "missing": []
}
EOF
ENV HOME=/root
WORKDIR /root
# gpu-commons lint ignore=D-ROOT reason="only root loads kernel modules"
USER 0:0
ENTRYPOINT ["/usr/local/bin/load-driver"]
CMD ["stay"]
LABEL org.opencontainers.image.title="NVIDIA driver container" \
      org.opencontainers.image.description="Kernel modules and libraries of driver 535.309.01 for one kernel of Debian 12; loads them and shows them to the node" \
      org.opencontainers.image.version="535-6.1.0-56-cloud-amd64-debian12" \
      org.opencontainers.image.created="2026-11-23T00:00:00Z" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-20260824-slim" \
      org.opencontainers.image.base.digest="sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171" \
      org.gpu-commons.image="driver-builder" \
      org.gpu-commons.spec.driver="535.309.01" \
      org.gpu-commons.spec.driver-key="535-6.1.0-56-cloud-amd64-debian12"

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
USER 0:0
RUN --network=none \
    --mount=type=bind,source=verify.py,target=/run/verify.py \
    --mount=type=bind,from=verifying,source=verifying.py,target=/run/verifying.py \
    python3 /run/verify.py

FROM image
