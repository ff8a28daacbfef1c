"""Answers of a host in which a secret is planted in every place where one can be, each in its program's own form."""

import base64
import json

from qops.transports.answer import Answer
from qops.transports.base import Completed


def secret(place: str) -> str:
    """Return the secret that is planted in `place`: no token of a known form, so that only its place gives it away."""
    return f"Pl4nt3d{place.title().replace('-', '')}{sum(place.encode())}x9"


COMMON = "hf_" + "C0mm0nT0k3nOfAllPlaces77"  # the same one in all places
PLACES = (
    *("environment", "procenv", "argument", "argument-equals", "unit", "unit-file", "log", "traceback", "json-config"),
    *("yaml-config", "url", "proxy", "netrc", "netrc-lines", "docker-config", "inspect", "compose", "curl", "header"),
    *("query", "python", "kubernetes", "stderr", "history"),
)


def answers() -> list[Answer]:
    """Return the answers, with the secrets of all `PLACES` and the common one in each."""
    s = {place: secret(place) for place in PLACES}
    login = base64.b64encode(f"$oauthtoken:{s['docker-config']}".encode()).decode()
    texts = {
        "environment": f"HF_TOKEN={s['environment']}\nPATH=/usr/bin\nHOME=/root\nTOKEN={COMMON}\n",
        "/proc/42/environ": f"PATH=/usr/bin\0VLLM_API_KEY={s['procenv']}\0HF_TOKEN={COMMON}\0NCCL_DEBUG=INFO\0",
        "gpu processes": f"42 vllm serve m --api-key {s['argument']} --hf-token={s['argument-equals']} {COMMON}\n",
        "systemctl cat vllm": f"[Service]\nEnvironment=HF_TOKEN={s['unit']}\n"
        f'Environment="WANDB_API_KEY={s["unit-file"]}"\nExecStart=/bin/x --token {COMMON}\n',
        "journalctl -u vllm": f"INFO api_key='{s['log']}' HF_TOKEN={COMMON}\n"
        f"ValueError: ServerArgs(model='m', api_key='{s['traceback']}', port=8000)\n",
        "config.json": json.dumps({"api_key": s["json-config"], "hf_token": COMMON}, indent=1),
        "app.yaml": f"registry:\n  password: {s['yaml-config']}\n  token: {COMMON}\n",
        "git remote -v": f"origin https://user:{s['url']}@git.example/x (fetch)\nx https://u:{COMMON}@h/\n",
        "proxy": f"https_proxy=http://me:{s['proxy']}@proxy.example:3128\nHF_TOKEN={COMMON}\n",
        "/root/.netrc": f"machine h login me password {s['netrc']}\nmachine g\nlogin me\npassword {s['netrc-lines']}\n"
        f"machine i login me password {COMMON}\n",
        "/root/.docker/config.json": json.dumps(
            {"auths": {"nvcr.io": {"auth": login}, "x": {"identitytoken": COMMON}}}
        ),
        "docker inspect": json.dumps(
            [{"Config": {"Env": [f"HF_TOKEN={s['inspect']}"], "Cmd": ["--hf-token", COMMON]}}]
        ),
        "compose.yml": f"services:\n  a:\n    environment:\n      - HF_TOKEN={s['compose']}\n      HF_TOKEN: {COMMON}\n",
        "access.log": f"curl -u admin:{s['curl']} https://h\nAuthorization: Bearer {s['header']}\n"
        f"GET /v1/models?api_key={s['query']}&x=1\nAuthorization: Bearer {COMMON}\n",
        "train.py": f'login(token="{s["python"]}")\nlogin(token="{COMMON}")\n',
        "pod.yaml": f"- name: HF_TOKEN\n  value: {s['kubernetes']}\n- name: X_TOKEN\n  value: {COMMON}\n",
        "history": f"export OPENAI_API_KEY={s['history']}\n",
        # Here nothing says that it is one: only the other places do.
        "bare": f"using {COMMON} now\nagain {s['environment']} and {s['history']}\n",
    }
    found = [
        Answer(source, Completed(text.encode(), b"", 0, 0.1), argv=("cat", source), number=number)
        for number, (source, text) in enumerate({"bare first": texts["bare"], **texts}.items())
    ]
    failed = Completed(b"", f"fatal: password={s['stderr']} was refused\n".encode(), 1, 0.1)
    found.append(Answer("git fetch", failed, argv=("git", "fetch", f"--token={s['argument']}"), number=len(found)))
    return found
