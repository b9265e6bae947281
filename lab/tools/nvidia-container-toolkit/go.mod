module gpu-commons.org/lab/tools/nvidia-container-toolkit

go 1.26

require github.com/NVIDIA/nvidia-container-toolkit v1.20.1
