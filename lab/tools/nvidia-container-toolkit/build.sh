#!/bin/sh
# Builds NVIDIA's container toolkit: build.sh MODULE_FOLDER TARGET VERSION, with Go first on PATH.
# In the module's own folder, so that its go.sum decides; see the script of nvidia-device-plugin.
set -eu
module=$1 target=$2 version=$3
cd "$module"
CGO_ENABLED=1 go build -mod=readonly -trimpath -o "$target/bin/" \
  -ldflags "-s -w -extldflags=-Wl,-z,lazy -X github.com/NVIDIA/nvidia-container-toolkit/internal/info.version=$version" \
  ./cmd/nvidia-ctk ./cmd/nvidia-cdi-hook ./cmd/nvidia-container-runtime ./cmd/nvidia-container-runtime-hook
