# Like many a Dockerfile for a picture generator.
FROM pytorch/pytorch:2.2.2-cuda12.1-cudnn8-runtime
WORKDIR /comfyui
COPY . .
RUN apt update
RUN apt install -y git
RUN pip install -r requirements.txt
RUN PIP_NO_CACHE_DIR=1 pip install torch==2.3.1+cu121 --index-url https://download.pytorch.org/whl/cu121
CMD ["/bin/bash","-ic","python3 main.py --listen --multi-user"]
EXPOSE 8188
