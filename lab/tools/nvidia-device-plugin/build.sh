#!/bin/sh
# Builds NVIDIA's device plugin and GPU feature discovery: build.sh MODULE_FOLDER TARGET VERSION, with Go first on PATH.
# In the module's own folder, so that its go.sum decides. Functions of NVML are looked up when they are called, as the
# publisher's own build has it: no driver has all of them.
set -eu
module=$1 target=$2 version=$3
cd "$module"
CGO_ENABLED=1 go build -mod=readonly -trimpath -o "$target/bin/" \
  -ldflags "-s -w -extldflags=-Wl,-z,lazy -X github.com/NVIDIA/k8s-device-plugin/internal/info.version=v$version" \
  ./cmd/nvidia-device-plugin ./cmd/gpu-feature-discovery
