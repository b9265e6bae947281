# Like a text generation server: conda from a builder, base flavour below.
FROM nvidia/cuda:12.1.0-devel-ubuntu20.04 as install
ARG PYTORCH_VERSION=2.1.1
ARG CUDA_VERSION=12.1
RUN /opt/conda/bin/conda install -c pytorch -c nvidia -y \
    "pytorch=$PYTORCH_VERSION" "pytorch-cuda=$(echo $CUDA_VERSION | cut -d'.' -f 1-2)"
FROM nvidia/cuda:12.1.0-base-ubuntu20.04 as base
ENV PATH=/opt/conda/bin:$PATH HF_HUB_ENABLE_HF_TRANSFER=1
COPY --from=install /opt/conda /opt/conda
RUN pip install einops --no-cache-dir
COPY server server
RUN cd server && \
    make gen-server && \
    pip install -r requirements_cuda.txt && \
    pip install ".[bnb, accelerate]" --no-cache-dir
FROM base
ENTRYPOINT ["launcher"]
