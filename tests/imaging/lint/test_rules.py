"""Every rule: listed, sourced, true to its examples, and quiet about what only looks like its mistake."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest
from rows import each_row

from imaging.lint import rules as rules_package
from imaging.lint.check import lint
from imaging.lint.recipe import Kind, LintContext, Role
from imaging.lint.rules.index import ALL_RULES, BY_ID, GENERAL_RULES, GPU_RULES
from imaging.lint.rules.rule import DIGEST, Example, Rule

PLACEHOLDERS = (
    "<your-token-here>",
    "YOUR_TOKEN",
    "your-api-key",
    "yourtoken",
    "hf_xxx",
    "xxxx",
    "changeme",
    "CHANGE_ME",
    "TODO",
    "'put_your_key_here'",
    '"{{ token }}"',
    "...",
    "replace-me",
)
CU124 = "RUN pip install torch==2.5.1 -i https://x/whl/cu124\n"
BASE = f"FROM python:3.12-slim@{DIGEST}\n"
RUNTIME = f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}\n"
CUDNN = RUNTIME.replace("runtime", "cudnn-runtime")
CUDA = RUNTIME.replace("runtime", "base")
DEBIAN = f"FROM debian:12@{DIGEST}\n"
JUPYTER = f"FROM quay.io/jupyter/scipy-notebook:2026-08-24@{DIGEST}\n"
NO_RULE = frozenset({"__init__", "index", "rule"})
# Numbers of the list of mistakes that a linter can see (column "By", letter L).
TODAY = dt.date(2026, 11, 22)
SEEN_BY_A_LINTER = {f"E{n}" for n in (*range(1, 14), *range(15, 26), 28, 29, 34, 35)}

each_rule = each_row("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES])


def found(example: Example) -> list[tuple[str, int]]:
    setting = LintContext(example.role, example.has_ignore_file, TODAY)
    report = lint(example.text.encode(), "file", setting, kind=example.kind)
    return [(finding.rule, finding.line) for finding in report.all]


def of_rule(rule: str, text: str, kind: Kind = Kind.DOCKERFILE) -> list[int]:
    return [line for name, line in found(Example(text, kind)) if name == rule]


@each_rule
def test_the_passing_example_of_a_rule_is_clean_for_all_rules(rule: Rule) -> None:
    assert found(rule.passing) == []


@each_rule
def test_the_failing_example_of_a_rule_has_its_mistake(rule: Rule) -> None:
    names = {name for name, _ in found(rule.failing)}
    assert rule.id in names
    # A tag that moves, and one that will be deleted, are no digest either; what is deleted is old.
    also = {"D-LATEST": {"D-BASE"}, "D-DELETED": {"D-BASE", "D-SUPPORT"}}
    assert names <= {rule.id, *also.get(rule.id, ())}


@each_rule
def test_a_rule_explains_what_why_and_how_to_fix_it(rule: Rule) -> None:
    assert re.fullmatch(r"D-[A-Z]+", rule.id)
    assert re.fullmatch(r"(E\d+)?", rule.number)
    assert rule.title
    assert not rule.title.endswith(".")
    assert rule.says.endswith(".")
    assert rule.why.endswith(".")
    assert rule.fix
    assert rule.sources
    assert all(re.match(r"https://[\w.-]+/", source) for source in rule.sources)
    assert rule.passing != rule.failing
    assert rule.passing.kind in rule.kinds
    assert rule.failing.kind in rule.kinds


def test_every_mistake_that_a_linter_can_see_has_one_rule() -> None:
    numbers = [rule.number for rule in GPU_RULES if rule.number]
    assert numbers == sorted(SEEN_BY_A_LINTER, key=lambda number: int(number[1:]))
    assert not any(rule.number for rule in GENERAL_RULES)
    assert (*GPU_RULES, *GENERAL_RULES) == ALL_RULES
    assert len(BY_ID) == len(ALL_RULES)


def test_every_module_of_the_folder_is_a_rule_of_the_index_under_its_own_name() -> None:
    (folder,) = rules_package.__path__
    modules = {path.stem for path in Path(folder).glob("*.py")} - NO_RULE
    assert modules == {rule.id.removeprefix("D-").lower() for rule in ALL_RULES}


@each_row(
    ("rule", "text", "lines"),
    [
        # Bases
        ("D-BASE", "ARG BASE\nFROM ${BASE}\nUSER 1\n", []),  # whoever builds it says which
        ("D-BASE", "ARG V=24.04\nFROM ubuntu:$V\nUSER 1\n", [2]),
        ("D-BASE", "FROM scratch\nUSER 1\n", []),
        ("D-BASE", f"{BASE}COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /bin/\nUSER 1\n", [2]),
        ("D-BASE", f"FROM a@{DIGEST} AS build\nFROM b@{DIGEST}\nCOPY --from=build /x /x\nUSER 1\n", []),
        ("D-BASE", f"FROM a@{DIGEST} AS Build\nFROM build\nUSER 1\n", []),
        ("D-LATEST", "FROM tensorflow/tensorflow:latest-gpu\nUSER 1\n", [1]),
        ("D-LATEST", "FROM python:3.12-slim\nUSER 1\n", []),
        ("D-DELETED", f"FROM nvidia/cuda:9.2-runtime@{DIGEST}\nUSER 1\n", []),
        ("D-DELETED", "FROM registry-1.docker.io/nvidia/cuda:9.2-runtime\nUSER 1\n", [1]),
        ("D-DELETED", "FROM nvcr.io/nvidia/cuda:9.2-runtime\nUSER 1\n", [1]),
        ("D-DELETED", "FROM mirror.example/nvidia/cuda:9.2-runtime\nUSER 1\n", []),
        ("D-DEVEL", f"FROM pytorch/pytorch:2.7.1-cuda12.6-cudnn9-devel@{DIGEST}\nUSER 1\n", [1]),
        ("D-DEVEL", f"FROM nvidia/cuda:13.0.2-devel-ubuntu24.04@{DIGEST} AS b\nRUN x\nFROM b\nUSER 1\n", [1]),
        # Frameworks and libraries
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir torch\nUSER 1\n", [2]),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir -c lock.txt torch\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}ARG V\nRUN pip install --no-cache-dir torch==${{V}}\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir numpy torchvision\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{JUPYTER}RUN conda install -y -c nvidia pytorch::pytorch=2.1 && conda clean -ay\n", []),
        ("D-FRAMEWORK", f"{JUPYTER}RUN mamba install -y 'tensorflow' && mamba clean -ay\n", [2]),
        ("D-FRAMEWORK", f'{BASE}RUN bash -lc "pip install --no-cache-dir \\\n  jax"\nUSER 1\n', [3]),
        ("D-FRAMEWORK", f'{BASE}RUN ["pip", "install", "--no-cache-dir", "vllm"]\nUSER 1\n', [2]),
        ("D-FRAMEWORK", f"{BASE}RUN <<EOF\nset -e\nuv pip install --no-cache --system tensorflow\nEOF\nUSER 1\n", [4]),
        ("D-FRAMEWORK", f"{BASE}RUN <<EOF python3\nimport os # pip install torch\nEOF\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN echo pip install torch\nUSER 1\n", []),
        ("D-FRAMEWORK", f"# escape=`\n{BASE}RUN pip install --no-cache-dir `\n  # why\n  torch\nUSER 1\n", [5]),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir trl[vllm]==0.19.0\nUSER 1\n", [2]),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir 'optimum[onnxruntime-gpu]>=1'\nUSER 1\n", [2]),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir trl[vllm]==0.19.0 vllm==0.9.1\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir uvicorn[standard]==0.34.0\nUSER 1\n", []),
        ("D-LIBRARIES", f"{JUPYTER}RUN conda install -y cudnn && conda clean -ay\n", []),  # no toolkit beside it
        ("D-LIBRARIES", f"{JUPYTER}RUN conda install -y -c nvidia cuda-toolkit && conda clean -ay\n", [2]),
        ("D-LIBRARIES", f"{JUPYTER}RUN conda install -y 'cuda-version>=12' && conda clean -ay\n", [2]),
        ("D-LIBRARIES", f"{JUPYTER}RUN conda install -y cuda-version=12.4 cuda-toolkit && conda clean -ay\n", []),
        ("D-LIBRARIES", f"{BASE}RUN apt-get install -y cuda-toolkit\nUSER 1\n", [2]),
        ("D-LIBRARIES", f"{BASE}RUN apt-get install -y nvidia-cuda-toolkit\nUSER 1\n", [2]),
        ("D-LIBRARIES", f"{BASE}RUN apt-get install -y cuda-toolkit-12-4\nUSER 1\n", []),
        ("D-LIBRARIES", f"{BASE}RUN pip install --no-cache-dir cuda-python nvidia-nccl-cu12\nUSER 1\n", [2, 2]),
        ("D-LIBRARIES", f"{BASE}RUN pip install --no-cache-dir torch==2.6.0 nvidia-nccl-cu12\nUSER 1\n", []),
        ("D-LIBRARIES", f"{BASE}RUN pip install --no-cache-dir nvidia-ml-py\nUSER 1\n", []),  # a client of the driver
        ("D-LIBRARIES", f"{RUNTIME}RUN pip install --no-cache-dir torch==2.5.1 nvidia-cudnn-cu12\nUSER 1\n", []),
        ("D-LIBRARIES", f"{BASE}RUN apt-get install -y cuda\nUSER 1\n", []),  # D-DRIVER
        ("D-FRAMEWORK", f"{BASE}RUN pip install torch==2.5.1\nRUN pip install 'torch>=2' x\nUSER 1\n", []),
        ("D-FRAMEWORK", f"FROM nvcr.io/nvidia/pytorch:24.12-py3@{DIGEST}\nRUN pip install 'torch>=2'\n", []),
        ("D-FRAMEWORK", f"{BASE}ENV PIP_CONSTRAINT=/c.txt\nRUN pip install torch\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN pip install tensorflow-cpu\nRUN pip install -i https://x/whl/cpu torch\n", []),
        ("D-FRAMEWORK", f"{BASE[:-1]} AS b\nRUN pip install torch\n{BASE}COPY --from=b /v /v\nUSER 1\n", [2]),
        ("D-TENSORFLOW", f"{JUPYTER}RUN conda install -y 'tensorflow >=2,<3' 'tensorflow=2|3'\n", []),
        ("D-TENSORFLOW", f"{JUPYTER}RUN pip install tensorflow==2.3 'tensorflow==1.15; python_version<\"3.8\"'\n", []),
        # conda's CPU builds
        ("D-CPUBUILD", f"{BASE}RUN conda install -y -c conda-forge -c defaults pytorch=2.5.1\nUSER 1\n", [2]),
        ("D-CPUBUILD", f"{BASE}RUN conda install -y conda-forge::pytorch=2.5.1\nUSER 1\n", [2]),
        ("D-CPUBUILD", f"{BASE}RUN conda config --add channels conda-forge && conda install -y pytorch\nUSER 1\n", [2]),
        ("D-CPUBUILD", f"{JUPYTER[:-1]} AS b\nRUN mamba install -y pytorch=2.5.1\n{BASE}COPY --from=b /e /e\n", [2]),
        ("D-CPUBUILD", f"{JUPYTER}RUN mamba install -y jax=0.4.34 'jaxlib=0.4.34=*cuda*'\n", []),
        ("D-CPUBUILD", f"{JUPYTER}RUN mamba install -y tensorflow=2.16.1 && mamba clean -ay\n", [2]),
        ("D-CPUBUILD", f"{BASE}RUN conda install -y -c conda-forge jaxlib=0.4.30\nUSER 1\n", [2]),
        ("D-CPUBUILD", f"{JUPYTER}ENV CONDA_OVERRIDE_CUDA=12.4\nRUN mamba install -y pytorch=2.5.1\n", []),
        ("D-CPUBUILD", f"{JUPYTER}RUN mamba install -y pytorch=2.5.1=cuda126*\n", []),
        ("D-CPUBUILD", f"{JUPYTER}RUN mamba install -y pytorch=2.5.1=cpu* pytorch-cpu=2.5.1\n", []),
        ("D-CPUBUILD", f"{JUPYTER}RUN mamba install -y pytorch=2.5.1 pytorch-cuda=12.4 -c pytorch -c nvidia\n", []),
        ("D-CPUBUILD", f"{BASE}RUN conda install -y pytorch=2.5.1\nUSER 1\n", []),  # of which channel?
        # Libraries that nobody brings
        ("D-MISSING", f"{BASE}RUN pip install --no-cache-dir tensorflow==2.18.0\nUSER 1\n", [2]),
        ("D-MISSING", f"FROM nvidia/cuda:10.1-base-ubuntu18.04@{DIGEST}\nRUN pip install tensorflow==2.3.4\n", [2]),
        ("D-MISSING", f"{CUDA}RUN pip install cupy-cuda12x==13.3.0\n", [2]),
        ("D-MISSING", f"{RUNTIME}RUN pip install cupy-cuda12x==13.3.0\n", []),
        ("D-MISSING", f"{CUDNN}RUN pip install tensorflow==2.16.1\n", []),
        ("D-MISSING", f"{RUNTIME}RUN apt-get install -y cudnn9-cuda-12\nRUN pip install tensorflow==2.16.1\n", []),
        ("D-MISSING", f"{BASE}RUN pip install --no-cache-dir tensorflow-cpu==2.18.0\nUSER 1\n", []),
        ("D-MISSING", f"{BASE}RUN pip install --no-cache-dir tensorflow==1.14.0\nUSER 1\n", []),  # a build for the CPU
        ("D-MISSING", f"FROM registry.example/ours:1@{DIGEST}\nRUN pip install tensorflow==2.18.0\n", []),
        ("D-MISSING", f"FROM tensorflow/tensorflow:2.18.0-gpu-jupyter@{DIGEST}\n", [1]),
        ("D-MISSING", f"FROM tensorflow/tensorflow:2.17.0-gpu-jupyter@{DIGEST}\n", []),
        ("D-MISSING", f"FROM tensorflow/tensorflow:2.18.0-gpu@{DIGEST}\nRUN pip install tensorflow[and-cuda]\n", []),
        ("D-MISSING", f"{BASE}COPY --from=nvidia/cuda:12.4.1 /usr/local/cuda /c\nRUN pip install tensorflow\n", []),
        ("D-MISSING", f"{BASE}RUN sh cuda_12.4_linux.run --toolkit\nRUN pip install tensorflow==2.18.0\n", []),
        ("D-MISSING", f"FROM lab-base:1@{DIGEST}\nRUN pip install tensorflow==2.18.0\n", []),
        ("D-MISSING", f"{BASE}RUN pip install cupy-cuda12x[ctk]==14.0.0\nUSER 1\n", []),
        ("D-MISSING", f"{BASE}RUN pip install onnxruntime-gpu[cuda,cudnn]==1.23.0\nUSER 1\n", []),
        ("D-MISSING", f"{BASE}RUN pip install tensorflow[and-cuda]==2.9.1\nUSER 1\n", [2]),  # the extra is of 2.14
        ("D-MISSING", f"{BASE}RUN pip install nvidia-ml-py==12.560.30 tensorflow==2.18.0\nUSER 1\n", [2]),
        # A build that another one replaces
        ("D-REPLACED", f"{BASE}{CU124}RUN pip install -U torch==2.5.1\nUSER 1\n", []),
        ("D-REPLACED", f"{BASE}RUN a && pip install torch==2.5+cu124 || pip install torch==2.5+cpu\n", []),
        ("D-REPLACED", f"{BASE}ENV PIP_INDEX_URL=https://x/whl/cu124\n{CU124}RUN pip install torch==2.6.0\n", []),
        ("D-REPLACED", f"{BASE}RUN pip install torch==2.5.1+cu124 -f https://x\nRUN pip install torch==2.6.0\n", [3]),
        ("D-REPLACED", f"{BASE}RUN pip install torch==2.5.1\nRUN pip install torch==2.4.1 -i https://x/whl/cpu\n", [3]),
        ("D-REPLACED", f"{BASE}{CU124}RUN pip install -U torch\n", [3]),
        ("D-REPLACED", f"{BASE}{CU124}RUN pip install torch x\n", []),
        ("D-REPLACED", f"{BASE}{CU124}RUN /opt/b/bin/pip install torch==2.6.0\n", []),
        # What moves, but is no image
        ("D-LATEST", f"{BASE}RUN pip install --no-cache-dir git+https://github.com/x/y@main\nUSER 1\n", [2]),
        ("D-LATEST", f"{BASE}RUN pip install --no-cache-dir 'y @ git+https://github.com/x/y.git'\nUSER 1\n", [2]),
        ("D-LATEST", f"{BASE}RUN pip install --no-cache-dir git+https://github.com/x/y@v2.7.4\nUSER 1\n", []),
        ("D-LATEST", f"{BASE}RUN pip install --no-cache-dir git+https://github.com/x/y@{'a' * 40}#egg=y\nUSER 1\n", []),
        ("D-LATEST", f"{BASE}RUN pip install 'y @ git+https://x/y@v1.2.3 ; python_version>\"3\"'\nUSER 1\n", []),
        ("D-LATEST", "FROM lmsysorg/sglang:nightly-dev-20251012-ab12cd34\nUSER 1\n", []),
        ("D-LATEST", f"{BASE}RUN curl -fLO https://github.com/x/y/releases/latest/download/y.tgz\nUSER 1\n", [2]),
        ("D-LATEST", f"{BASE}RUN curl -fLO https://github.com/x/y/releases/download/v1/latest.tgz\nUSER 1\n", []),
        (
            "D-LIBRARIES",
            (
                f"FROM nvidia/cuda:12.6.3-base-ubuntu24.04@{DIGEST}\n"
                "RUN apt-get install -y libnccl2=2.24.3-1 libcudnn9\nUSER 1\n"
            ),
            [2],
        ),
        (
            "D-TENSORFLOW",
            (
                f"{JUPYTER}RUN conda create -n one -y tensorflow=1.15 && conda clean -ay\n"
                "RUN conda install -y tensorflow=2.3 && conda clean -ay\n"
            ),
            [],
        ),
        ("D-TENSORFLOW", f"{JUPYTER}RUN pip install --no-cache-dir tensorflow==1.15.5 tensorflow-gpu==2.3.4\n", [2]),
        # Layers
        ("D-CACHE", f"{BASE}ENV PIP_NO_CACHE_DIR=1\nRUN pip install numpy\nUSER 1\n", []),
        ("D-CACHE", f"{BASE}RUN --mount=type=cache,target=/root/.cache pip install numpy\nUSER 1\n", []),
        ("D-CACHE", f"{BASE}RUN --mount=type=cache,target=/root/.cache/uv pip install numpy\nUSER 1\n", [2]),
        ("D-CACHE", f"{BASE}RUN pip install numpy && rm -rf ~/.cache/pip\nUSER 1\n", []),
        ("D-CACHE", f"FROM a@{DIGEST} AS b\nRUN pip install numpy\nFROM a@{DIGEST}\nUSER 1\n", []),
        (
            "D-CLEANUP",
            (
                f"{BASE}RUN curl -fsSLo /tmp/a.tgz https://x/a.tgz\nRUN tar xf /tmp/a.tgz && rm /tmp/a.tgz\n"
                "USER 1\n"
            ),
            [3],
        ),
        ("D-CLEANUP", f"{BASE}RUN curl -fsSLo /tmp/a.tgz https://x/a.tgz && rm /tmp/a.tgz\nUSER 1\n", []),
        ("D-CLEANUP", f"{BASE}COPY big.tar /data/\nRUN rm -rf /data\nUSER 1\n", [3]),
        ("D-CLEANUP", f"{BASE}RUN rm -rf /var/lib/apt/lists/*\nUSER 1\n", []),  # of the base: nothing of ours
        ("D-CLEANUP", f"{JUPYTER}RUN conda install -y numpy\nRUN conda clean --all -y\n", [3]),
        ("D-SOURCES", f"{BASE}RUN git clone --depth 1 https://x/y.git /y\nUSER 1\n", []),
        ("D-SOURCES", f"{BASE}RUN git clone https://x/y.git /y && make -C /y install && rm -rf /y\nUSER 1\n", []),
        (
            "D-SOURCES",
            (
                f"{BASE}RUN apt-get install -y gcc && pip install --no-cache-dir x && apt-get purge -y gcc\n"
                "USER 1\n"
            ),
            [],
        ),
        (
            "D-TWICE",
            (
                f"FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04@{DIGEST}\n"
                "RUN pip install --no-cache-dir torch==2.7.1 --index-url https://download.pytorch.org/whl/cpu\nUSER 1\n"
            ),
            [],
        ),
        ("D-TWICE", f"{JUPYTER}RUN conda create -n a -y cudatoolkit=10.1\nRUN pip install torch==1.7.1+cu101\n", []),
        (
            "D-TWICE",
            (
                f"{JUPYTER}RUN conda install -y cudatoolkit=11.8\n"
                "RUN pip install nvidia-cudnn-cu11==8.6.0.163\n"
            ),
            [],
        ),
        (
            "D-TWICE",
            (
                f"FROM pytorch/pytorch:2.2.2-cuda12.1-cudnn8-runtime@{DIGEST}\nRUN pip install torch\n"
                "USER 1\n"
            ),
            [],
        ),
        ("D-ORDER", f"{BASE}COPY . /app\nRUN pip install --no-cache-dir --no-deps /app\nUSER 1\n", []),
        (
            "D-ORDER",
            (
                f"{BASE}COPY requirements.txt ./\nRUN pip install --no-cache-dir -r requirements.txt\n"
                "USER 1\n"
            ),
            [],
        ),
        ("D-CONTEXT", f"{BASE}COPY . /app\nUSER 1\n", []),  # nobody knows the context
        # Drivers and modules
        ("D-DRIVER", f"{BASE}RUN sh /tmp/NVIDIA-Linux-x86_64-535.54.03.run -s\nUSER 1\n", [2]),
        ("D-DRIVER", f"{BASE}RUN apt-get install -y cuda\nUSER 1\n", [2]),
        ("D-DRIVER", f"{BASE}RUN apt-get install -y cuda-toolkit-12-6\nUSER 1\n", []),
        ("D-DRIVER", f"{BASE}RUN sh cuda_10.1.105_418.39_linux.run --silent --toolkit\nUSER 1\n", []),
        ("D-DRIVER", f"{BASE}RUN sh cuda_10.1.105_418.39_linux.run --silent\nUSER 1\n", [2]),
        ("D-DRIVER", f"{BASE}COPY libcuda.so.1 /usr/lib/\nUSER 1\n", [2]),
        ("D-DRIVER", f"FROM a@{DIGEST} AS b\nRUN apt-get install -y nvidia-driver-535\nFROM a@{DIGEST}\nUSER 1\n", []),
        ("D-DRIVER", f"{CUDA}RUN apt-get install -y nvtop\nUSER 1\n", []),
        ("D-DRIVER", f"FROM ubuntu:20.04@{DIGEST}\nRUN apt-get install -y nvtop\nUSER 1\n", [2]),
        ("D-DRIVER", f"FROM ubuntu:20.04@{DIGEST}\nRUN apt-get install -y htop\nUSER 1\n", []),
        ("D-KMOD", f'{BASE}USER 1\nCMD ["sh", "-c", "insmod /opt/nvidia-uvm.so"]\n', [3]),
        ("D-KMOD", f"{BASE}COPY model.kod /opt/\nUSER 1\n", []),
        # Variables and secrets
        ("D-PCI", f"{BASE}ENV CUDA_VISIBLE_DEVICES PCI_BUS_ID\nUSER 1\n", [2]),
        ("D-PCI", "export CUDA_VISIBLE_DEVICES=PCI_BUS_ID\n", []),
        ("D-VISIBLE", f"{BASE}ENV NVIDIA_VISIBLE_DEVICES=void CUDA_VISIBLE_DEVICES=\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV TOKENIZERS_PARALLELISM=false MAX_TOKENS=4 GPG_KEY=E3FF\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV PASSWORD_FILE=/run/secrets/x JUPYTER_TOKEN=\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV A=1 \\\n  HF_TOKEN=hf_x\nUSER 1\n", [3]),
        ("D-SECRET", f"{BASE}RUN pip install --no-cache-dir --index-url https://u:hunter2@x/simple y\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE}RUN pip install --no-cache-dir --index-url https://u:$P@x/simple y\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV HF_TOKEN=changeme API_KEY=YOUR_API_KEY WANDB_API_KEY=xxxxxxxx\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV HF_TOKEN=changeme2026 API_KEY=yours2Violet\nUSER 1\n", [2, 2]),
        ("D-SECRET", f"{BASE}COPY id_ed25519 /root/.ssh/\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE}COPY .ssh/ /root/.ssh/\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE}COPY id_ed25519.pub /root/.ssh/authorized_keys\nUSER 1\n", []),
        ("D-SECRET", f"{BASE}ENV PIP_EXTRA_INDEX_URL=https://u:hunter2@x/simple\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE[:-1]} AS b\nCOPY id_rsa /root/.ssh/\n{BASE}USER 1\n", []),  # stays in the builder
        ("D-SECRET", f"{BASE}RUN ssh-keygen -t rsa -N '' -f /root/.ssh/id_rsa\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE}RUN ssh-keygen -A\nUSER 1\n", [2]),
        ("D-SECRET", f"{BASE}RUN ssh-keygen -R example.org && ssh-keyscan example.org >> /etc/hosts\nUSER 1\n", []),
        # A bound that is a redirection, and what follows it
        ("D-QUOTE", f"{BASE}RUN pip install --no-cache-dir a>=1.2 b\nUSER 1\n", [2]),
        ("D-QUOTE", f"{BASE}RUN pip install --no-cache-dir a==1 \\\n  b>2\nUSER 1\n", [3]),
        ("D-QUOTE", f"{BASE}RUN apt-get update && pip install --no-cache-dir a>=1.2 b\nUSER 1\n", [2]),
        ("D-QUOTE", f"{BASE}RUN false || ! pip install --no-cache-dir a>=1.2\nUSER 1\n", [2]),
        ("D-QUOTE", f"{BASE}RUN yes | pip install --no-cache-dir a>=1.2\nUSER 1\n", [2]),
        ("D-QUOTE", f"{BASE}RUN pip install --no-cache-dir a==1 && echo >=1.2\nUSER 1\n", []),
        ("D-QUOTE", f"{BASE}RUN conda install -y a>=1.2 && conda clean -afy\nUSER 1\n", [2]),
        ("D-QUOTE", f"{BASE}RUN pip install --no-cache-dir 'a>=1.2' \"b>2\" 2>&1 > /tmp/log\nUSER 1\n", []),
        ("D-QUOTE", f"{BASE}RUN pip install --no-cache-dir a==1 >> install.log 2>&1\nUSER 1\n", []),
        ("D-QUOTE", f"{BASE}RUN echo a>=1.2\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir a>=1.2 torch\nUSER 1\n", [2]),
        ("D-FRAMEWORK", f"{BASE}RUN apt-get update && pip install --no-cache-dir a>=1.2 torch\nUSER 1\n", [2]),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir a==1 > torch\nUSER 1\n", []),
        ("D-FRAMEWORK", f"{BASE}RUN pip install --no-cache-dir a==1 > /tmp/log torch==2.6.0\nUSER 1\n", []),
        # The end of the file
        ("D-ROOT", f"{BASE}USER 1\nUSER root\n", [3]),
        ("D-ROOT", f"{BASE}USER 1\nUSER 0:0\n", [3]),
        ("D-ROOT", "FROM jupyter/scipy-notebook\n", []),
        ("D-ROOT", f"FROM a@{DIGEST} AS b\nUSER 1\nFROM b\n", []),
        ("D-GPUBUILD", f"{BASE}RUN nvidia-smi\nUSER 1\n", [2]),
        # In any image: a download that is run unseen
        ("D-PIPE", f"{BASE}RUN curl -LsSf https://x/install.sh | sh\nUSER 1\n", [2]),
        ("D-PIPE", f"{BASE}RUN set -e; \\\n  wget -qO- https://x/i.sh \\\n  | sudo -E bash -s -- -y\nUSER 1\n", [3]),
        ("D-PIPE", f"{BASE}RUN sudo curl -fsSL https://x/i.sh 2>/dev/null | bash -\nUSER 1\n", [2]),
        ("D-PIPE", f'{BASE}RUN bash -c "$(curl -fsSL https://x/install.sh)"\nUSER 1\n', [2]),
        ("D-PIPE", f"{BASE}RUN bash <(wget -qO- https://x/install.sh) --yes\nUSER 1\n", [2]),
        ("D-PIPE", f'{BASE}RUN eval "$(curl -fsSL https://x/env.sh)"\nUSER 1\n', [2]),
        ("D-PIPE", f"{BASE}RUN curl https://x/get-pip.py | python3 - --no-cache-dir\nUSER 1\n", [2]),
        ("D-PIPE", f"{BASE}RUN curl https://x/i.sh.gz | gunzip | bash -o pipefail\nUSER 1\n", [2]),
        ("D-PIPE", f"{BASE}RUN <<EOF\nset -e\ncurl https://x/i.sh | sh\nEOF\nUSER 1\n", [4]),
        ("D-PIPE", f"FROM a@{DIGEST} AS b\nRUN curl https://x/i.sh | sh\nFROM a@{DIGEST}\nUSER 1\n", [2]),
        ("D-PIPE", f"{BASE}RUN curl https://x/a.tgz | tar xz -C /opt\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN curl https://x/key.asc | gpg --dearmor -o /k.gpg\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN curl https://x/a.json | python3 -c 'import json, sys; print(1)'\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN curl https://x/a.json | python3 -m json.tool\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN curl https://x/a.csv | bash /opt/load.sh\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN curl -o i.sh https://x/i.sh && sha256sum -c sums && sh i.sh\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN echo 'curl https://x | sh' >> /notes && cat /x | sh\nUSER 1\n", []),
        ("D-PIPE", f"{BASE}RUN V=$(curl https://x/version) sh /opt/i.sh\nUSER 1\n", []),
        # … instructions that no shell reads
        ("D-SUBSTITUTION", f"{BASE}ENV V=$(uname -r)\nUSER 1\n", [2]),
        ("D-SUBSTITUTION", f"{BASE}ARG MADE=$(date)\nUSER 1\n", [2]),
        ("D-SUBSTITUTION", f"{BASE}RUN echo $(uname -r) > /v\nUSER 1\nCMD echo $(date)\n", []),
        ("D-SUBSTITUTION", f"{BASE}ENV V=${{W:-1}} X=\\$Y\nUSER 1\n", []),
        ("D-SUBSTITUTION", f"{BASE}ENV PS1='$(git branch) '\nLABEL usage=\"docker run -v $(pwd):/w x\"\nUSER 1\n", []),
        # … what Ubuntu 24.04 and Debian 12 changed
        ("D-UID", f"FROM quay.io/jupyter/base-notebook:ubuntu-24.04@{DIGEST}\nRUN groupadd -g 1000 a\n", []),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN userdel -r ubuntu && useradd -u 1000 a\nUSER a\n", []),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN usermod -s /bin/sh root && useradd -u 1000 a\nUSER a\n", [2]),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST} AS b\nRUN useradd -u 1000 a\n{BASE}USER 1\n", [2]),
        ("D-VENV", f"{DEBIAN}COPY pip.conf /etc/pip.conf\nRUN pip3 install x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}RUN pip3 config set global.break-system-packages true && pip3 install x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}RUN export PATH=/opt/venv/bin:$PATH && pip install x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}ENV PATH=/usr/local/cuda/bin:$PATH\nRUN pip install x==1\nUSER 1\n", [3]),
        ("D-VENV", f"{DEBIAN}RUN pip3 install uv==0.9.0\nUSER 1\n", [2]),
        ("D-VENV", f"{DEBIAN[:-1]} AS b\nRUN pip3 install x==1\n{BASE}USER 1\n", [2]),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN useradd -mu 1000 a\nUSER a\n", [2]),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN groupadd -g 1000 a && useradd -u 1000 -g a a\nUSER a\n", [2]),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nARG ID=1000\nRUN adduser --uid $ID a\nUSER a\n", [3]),
        ("D-UID", f"FROM ubuntu:22.04@{DIGEST}\nRUN useradd -u 1000 a\nUSER a\n", []),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN useradd -u 1001 a\nUSER a\n", []),
        ("D-UID", f"FROM ubuntu:24.04@{DIGEST}\nRUN useradd -o -u 1000 a\nUSER a\n", []),
        ("D-VENV", f"{DEBIAN}RUN python3 -m pip install --no-cache-dir x==1\nUSER 1\n", [2]),
        ("D-VENV", f"FROM debian:11@{DIGEST}\nRUN pip3 install --no-cache-dir x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}ENV PIP_BREAK_SYSTEM_PACKAGES=1\nRUN pip3 install --no-cache-dir x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}ENV PATH=/opt/venv/bin:$PATH\nRUN pip install --no-cache-dir x==1\nUSER 1\n", []),
        ("D-VENV", f"FROM python:3.12-slim-bookworm@{DIGEST}\nRUN pip install --no-cache-dir x==1\nUSER 1\n", []),
        ("D-VENV", f"{DEBIAN}RUN sh Miniconda3.sh -b -p /opt/c\nRUN pip install --no-cache-dir x==1\nUSER 1\n", []),
        # … files without a sum
        ("D-CHECKSUM", f"{BASE}ADD https://x/a.run /opt/\nUSER 1\n", [2]),
        ("D-CHECKSUM", f'{BASE}ADD --chown=1:1 ["https://x/a.run", "/opt/"]\nUSER 1\n', [2]),
        ("D-CHECKSUM", f"{BASE}ARG V=2\nADD https://x/a-${{V}}.run \\\n  /opt/\nUSER 1\n", [3]),
        ("D-CHECKSUM", f"{BASE}ADD https://github.com/x/y.git#main /src\nUSER 1\n", [2]),
        ("D-CHECKSUM", f"{BASE}ADD https://github.com/x/y.git#{'a' * 40} /src\nUSER 1\n", []),
        ("D-CHECKSUM", f"{BASE}ADD git@github.com:x/y.git#{'a' * 40}:sub /src\nUSER 1\n", []),
        ("D-CHECKSUM", f"{BASE}ADD --checksum={DIGEST} https://x/a.run /opt/\nUSER 1\n", []),
        ("D-CHECKSUM", f"{BASE}ADD rootfs.tar.xz /\nUSER 1\n", []),
        ("D-CHECKSUM", f"{BASE}COPY https /opt/\nUSER 1\n", []),
        # … bases whose support has ended
        ("D-SUPPORT", f"FROM ubuntu:14.04@{DIGEST}\nUSER 1\n", [1]),
        ("D-SUPPORT", f"FROM python:3.9-slim-buster@{DIGEST}\nUSER 1\n", [1]),
        ("D-SUPPORT", f"ARG V=18.04\nFROM nvidia/cuda:12.0.1-base-ubuntu$V@{DIGEST}\nUSER 1\n", [2]),
        ("D-SUPPORT", f"FROM centos:7@{DIGEST} AS b\nRUN x\nFROM b\nUSER 1\n", [1]),
        ("D-SUPPORT", f"FROM centos:7@{DIGEST} AS b\nRUN x\nFROM debian:13@{DIGEST}\nUSER 1\n", []),  # a builder
        ("D-SUPPORT", f"FROM ubuntu:22.04@{DIGEST}\nUSER 1\n", []),
        ("D-SUPPORT", f"FROM registry.example/ours:14.04@{DIGEST}\nUSER 1\n", []),
        # … and package lists
        ("D-LISTS", f"{BASE}RUN apt-get update \\\n && apt-get install -y git\nUSER 1\n", [2]),
        ("D-LISTS", f"{BASE}RUN apt-get update && apt-get install -y git && apt-get clean\nUSER 1\n", [2]),
        ("D-LISTS", f"{BASE}RUN dnf install -y git\nRUN apk add git\nUSER 1\n", [2, 3]),
        ("D-LISTS", f"{BASE}RUN dnf install -y git && dnf clean all\nRUN apk add --no-cache git\nUSER 1\n", []),
        ("D-LISTS", f"{BASE}RUN apt-get update && rm -rf /var/lib/apt/lists/* /tmp/*\nUSER 1\n", []),
        ("D-LISTS", f"{BASE}RUN --mount=type=cache,target=/var/lib/apt apt-get update\nUSER 1\n", []),
        ("D-LISTS", f"{BASE}RUN apt-get update\nRUN rm -rf /var/lib/apt/lists/*\nUSER 1\n", []),  # D-CLEANUP
        ("D-LISTS", f"FROM a@{DIGEST} AS b\nRUN apt-get update\nFROM a@{DIGEST}\nUSER 1\n", []),
    ],
)  # fmt: skip
def test_a_rule_distinguishes_its_mistake_from_lookalikes(rule: str, text: str, lines: list[int]) -> None:
    kind = Kind.SCRIPT if text.startswith("export") else Kind.DOCKERFILE
    if kind is Kind.SCRIPT:
        lines = [1]
    assert of_rule(rule, text, kind) == lines


@each_row(
    ("rule", "line", "is_found"),
    [
        ("D-NV", "singularity exec -B /scratch:/data image.sif python x.py --nv", True),
        ("D-NV", "srun apptainer exec --nv image.sif python x.py", False),
        ("D-NV", "singularity exec --env A=b --nv image.sif python x.py", False),
        ("D-HOST", "load module cuda/9.2", True),
        ("D-HOST", "module load cuda/9.2", False),  # without a container it is what a site means
        ("D-HOST", "module load cuda/9.2 && singularity run --nv x.sif", True),
        ("D-HOST", "module load singularity && singularity run --nv x.sif", False),
        ("D-HOST", "singularity exec --nv -B /software/cuda/9.2:/usr/local/cuda x.sif y", True),
        ("D-LATEST", "singularity pull docker://pytorch/pytorch:latest", True),
        ("D-NAME", "docker build .", True),
        ("D-NAME", "docker build --tag a/b:1 .", False),
        ("D-NAME", "docker run --rm -it --shm-size=1g adf7c790e9b1", True),
        ("D-NAME", "docker commit box a/cuda:v1", True),
        ("D-NAME", "docker build -t a/cuda:v1 . && docker push a/cuda", True),
        ("D-NAME", "docker build -t a/cuda:v1 . && docker push a/cuda:v1", False),
        ("D-NAME", "docker build -t a/cuda:v1 . && docker tag b/cuda:v1 a/cuda:v1", True),
        ("D-GPUBUILD", "nvidia-docker build -t a/b:1 .", True),
        ("D-PORT", "nvidia-docker run -p 8000 a/b:1", True),
        ("D-PORT", "docker run -p 127.0.0.1:8000:8000 a/b:1", False),
        ("D-VISIBLE", "docker run -e NVIDIA_VISIBLE_DEVICES=0 a/b:1", True),
        ("D-VISIBLE", "export CUDA_VISIBLE_DEVICES=$SLURM_JOB_GPUS", False),
        ("D-SECRET", "docker login -u me -p hunter2 nvcr.io", True),
        ("D-SECRET", "docker login --password-stdin nvcr.io < key", False),
        ("D-SECRET", "export NGC_API_KEY=abc123", True),
        ("D-SECRET", "nerdctl login -u me -p hunter2 nvcr.io", True),
        ("D-SECRET", "PGPASSWORD=hunter2 psql", True),
        ("D-SECRET", "helm upgrade --client-secret hunter2", True),
        ("D-SECRET", "tool --token /run/secrets/token --max-tokens 4096", False),
        ("D-SECRET", "docker build --secret id=token,src=token .", False),
        *(("D-SECRET", f"export HF_TOKEN={each}", False) for each in PLACEHOLDERS),
        *(
            ("D-SECRET", f"export HF_TOKEN={each}", True)
            for each in (
                "Yourself7",
                "x1xx",
                "here",
                "todo-42-Violet",
                "hf_xY",
                "<hunter2>",
                "{hunter2}",
                "your_9f8e7d6c",
                "Tr0ub4_here",
            )
        ),
        ("D-SECRET", "train --api-key YOUR_KEY --epochs 3", False),
        ("D-SECRET", "train --api-key Violet7 --epochs 3", True),
        ("D-LATEST", "nerdctl run a/b:latest", True),
        ("D-VISIBLE", "nerdctl run -e NVIDIA_VISIBLE_DEVICES=0 a/b:1", True),
        ("D-SECRET", "export NGC_API_KEY=$(cat key)", False),
        ("D-KERNEL", "python -m ipykernel --name tf --prefix=$CONDA_DIR", True),
        ("D-KERNEL", "python -m ipykernel install --name tf --prefix=$CONDA_DIR", True),
        ("D-KERNEL", "python -m ipykernel install --user --name tf", False),
        ("D-ARCHIVE", "sudo add-apt-repository -y ppa:graphics-drivers/ppa", True),
        ("D-ARCHIVE", "sudo add-apt-repository -y ppa:deadsnakes/ppa", False),
        ("D-REQUIREMENTS", "pip install -c constraints.txt -rrequirements.txt", False),
        ("D-REQUIREMENTS", "python3 -m pip install requirements-dev.txt", True),
        ("D-PIPE", "curl -LsSf https://x/install.sh | sh", True),
        ("D-PIPE", "curl -LsSf https://x/install.sh -o install.sh", False),
        ("D-PIPE", "ssh node 'uptime' | bash", False),
    ],
)
def test_a_line_of_a_script(rule: str, line: str, is_found: bool) -> None:
    assert bool(of_rule(rule, line + "\n", Kind.SCRIPT)) is is_found


def test_a_driver_image_may_hold_a_driver_and_modules() -> None:
    text = f"{BASE}RUN apt-get install -y nvidia-driver-535\nCOPY nvidia.ko /opt/\nUSER 1\n"
    assert {name for name, _ in found(Example(text))} == {"D-DRIVER", "D-KMOD"}
    assert found(Example(text, role=Role.DRIVER)) == []


@pytest.mark.parametrize(
    ("base", "message", "fix"),
    [
        (
            "ubuntu:18.04",
            "standard support of Ubuntu 18.04 ended on 2023-05-31",
            "start from a base on Ubuntu 22.04 (until 2027-06-01) or Ubuntu 24.04 (until 2029-05-31)",
        ),
        (
            "centos:7",
            "updates of CentOS Linux 7 ended on 2024-06-30",
            "nothing follows CentOS Linux 7: start from another system, such as Rocky Linux, Debian or Ubuntu",
        ),
    ],
)
def test_a_base_past_its_end_of_support_comes_with_the_releases_to_take(base: str, message: str, fix: str) -> None:
    (finding,) = lint(f"FROM {base}@{DIGEST}\nUSER 1\n".encode(), "file", LintContext(today=TODAY)).general
    assert finding.message.startswith(message)
    assert finding.fix == fix


def test_a_base_is_supported_until_the_end_of_its_last_day() -> None:
    text = f"FROM ubuntu:18.04@{DIGEST}\nUSER 1\n".encode()
    assert not lint(text, "file", LintContext(today=dt.date(2023, 5, 31))).all
    assert lint(text, "file", LintContext(today=dt.date(2023, 6, 1))).all


def test_an_address_in_a_message_has_no_password() -> None:
    text = f"FROM debian:13@{DIGEST}\nADD https://me:hunter2@x/a.run?token=hunter2 /opt/\nUSER 1\n"
    (message,) = (each.message for each in lint(text.encode(), "file", LintContext()).all if each.rule == "D-CHECKSUM")
    assert "hunter2" not in message


def test_the_fix_for_lists_in_a_definition_file_clears_them_at_the_end_of_post() -> None:
    text = f"Bootstrap: docker\nFrom: debian:13@{DIGEST}\n%post\n    apt-get update\n    apt-get install -y git\n"
    (finding,) = lint(text.encode(), "x.def", LintContext()).general
    assert (finding.rule, finding.line) == ("D-LISTS", 4)
    assert finding.fix == "end %post with rm -rf /var/lib/apt/lists/*"
