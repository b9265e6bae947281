module gpu-commons.org/lab/tools/nvidia-device-plugin

go 1.26

require github.com/NVIDIA/k8s-device-plugin v0.18.0
