# The course on a machine with an NVIDIA driver and its container toolkit:
#   docker build -t gpu-kernels .
#   docker run --gpus all -p 127.0.0.1:8888:8888 -v gpu-kernels:/course/notebooks gpu-kernels
# The volume keeps your notebooks and points. No CUDA image is needed: pip installs the compilers.

# Python, make, git and g++
FROM python:3.12 AS base
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*

FROM base
WORKDIR /course
COPY . .
RUN make .venv/.ready
ENV TUTORLIB_PROGRESS=/course/notebooks/.progress.jsonl
EXPOSE 8888
CMD ["make", "lab", "ARGS=--no-browser --ip=0.0.0.0"]
