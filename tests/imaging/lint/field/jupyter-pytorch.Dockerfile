# Like the CUDA notebook of the Jupyter stacks.
ARG BASE_IMAGE=quay.io/jupyter/scipy-notebook
FROM $BASE_IMAGE
RUN pip install --no-cache-dir --extra-index-url=https://pypi.nvidia.com --index-url 'https://download.pytorch.org/whl/cu124' \
    'torch' \
    'torchaudio' && \
    fix-permissions "${CONDA_DIR}"
ENV NVIDIA_VISIBLE_DEVICES="all" \
    NVIDIA_DRIVER_CAPABILITIES="compute,utility"
ENV PATH="${PATH}:/usr/local/nvidia/bin"
