"""What tests of `qops adopt` share: a text that starts an engine, adopted, written, read again and planned."""

from collections.abc import Mapping
from typing import Any

import yaml

from qops import adoption
from qops.adoption import Adopted
from qops.derive.derived import Derived
from qops.derive.hardware_class import HardwareClass
from qops.derive.service import Service
from qops.evidence.gpu import Gpu, Gpus
from qops.evidence.text import Quote
from qops.plans.inference_service_options import DEFAULTS, services
from qops.render import adoption as rendered

COMPOSE = """\
x-common: &common
  restart: unless-stopped
  ipc: host
  shm_size: "16g"
  ulimits: {memlock: -1, stack: 67108864}
x-gpus: &gpus
  deploy:
    resources:
      reservations:
        devices:
          - {driver: nvidia, device_ids: ["2", "3"], capabilities: [gpu]}
services:
  llm:
    <<: [*common, *gpus]
    image: vllm/vllm-openai:${VLLM_TAG:-v0.31.0}
    env_file: [own.env]
    environment:
      - NCCL_DEBUG=WARN
      - HF_TOKEN=${HF_TOKEN}
      - SAFETENSORS_FAST_GPU=1
    ports: ["5001:8000"]
    volumes:
      - ./models:/models:ro
      - cache:/root/.cache/huggingface
      - ~/own.jinja:/own.jinja
    command: >
      --model /models/whale
      --served-model-name ${NAME:-whale}
      --tensor-parallel-size 2
      --speculative-config '{"method":"mtp","num_speculative_tokens":2}'
  web:
    image: ghcr.io/open-webui/open-webui:v0.9
volumes: {cache: {}}
"""

RUN = r"""#!/usr/bin/env bash
set -euo pipefail
MODELS=/mnt/raid0/models
IMAGE="lmsysorg/sglang:v0.5.23"
PORT=${PORT:-8100}
docker rm -f orca || true
exec sudo docker run -d --name orca_1 \
  --gpus '"device=4,5,6,7"' --ipc=host --shm-size 32g \
  --ulimit memlock=-1 --ulimit stack=67108864 \
  --network host -it \
  -v "$MODELS":/models:ro \
  -v $HOME/.cache/huggingface:/root/.cache/huggingface \
  --restart always --label 'owner=a b' \
  -e SGLANG_SET_CPU_AFFINITY=1 -e HF_TOKEN -e 'NOTE=costs $5' \
  "$IMAGE" \
  sglang serve --model-path /models/orca --served-model-name "orca" --host 0.0.0.0 --port $PORT \
    --tp-size 4 --reasoning-parser qwen3 2>&1 | tee orca.log
"""

UNIT = """\
[Unit]
Description=whale
After=network-online.target mnt-models.mount
RequiresMountsFor=/mnt/models

[Service]
Type=simple
User=llm
WorkingDirectory=/home/llm
EnvironmentFile=-/etc/default/%N
Environment="HF_HOME=/mnt/models/hf cache" CUDA_VISIBLE_DEVICES=1
ExecStartPre=/usr/bin/nvidia-smi
ExecStart=/opt/vllm/bin/vllm serve ${MODEL} \\
    --served-model-name whale \\
    # --enforce-eager
    --max-model-len 16384 --api-key ${API_KEY} $EXTRA
Restart=on-failure
LimitNOFILE=65536
Nice=-5

[Install]
WantedBy=multi-user.target
"""
HERE = {"HOME": "/home/ann", "PWD": "/srv/llm"}


def adopted(text: str, source: str = "file", files: Mapping[str, str] | None = None, **values: str) -> list[Adopted]:
    """Adopt every engine in `text`; `files` are those that it names, `values` the variables around it."""
    found = adoption.read(text, source, {**HERE, **values}, (files or {}).get)
    made: list[Adopted] = []
    for one in found:
        made.append(adoption.adopt(one, {str(other.instance["name"]) for other in made}))
    return made


def only(text: str, source: str = "file", files: Mapping[str, str] | None = None, **values: str) -> Adopted:
    """Adopt the one engine in `text`."""
    (one,) = adopted(text, source, files, **values)
    return one


def reasons(one: Adopted) -> dict[str, str]:
    """Return why each thing was left, by what it is."""
    return {left.what: left.because for left in one.left}


def written(*made: Adopted) -> dict[str, Any]:
    """Return the YAML that `qops adopt` writes, as it is read again; `!unsafe` is a tag of Ansible's."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))
    loaded: dict[str, Any] = yaml.load(rendered.text({"": made}, {}), Loader=Loader)  # a SafeLoader
    return loaded


def planned(*made: Adopted, gpus: int = 8) -> list[Service]:
    """Return what the role serves with the written inventory, on a host with `gpus` GPUs."""
    loaded = written(*made)
    secrets = {name: dict.fromkeys(values, "x") for name, values in loaded.get("inference_service_secrets", {}).items()}
    seen = {Gpus: Gpus(tuple(Gpu(n, Quote("smi", 1, ""), uuid=f"GPU-{n}") for n in range(gpus)))}
    options = {**DEFAULTS, "instances": loaded["inference_service_instances"], "secrets": secrets}
    return services(options, seen, Derived(HardwareClass.HGX, "said")).services
