import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qops import probes
from qops.probes.base import Command
from qops.redaction import Redactor

HF = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2lnbmF0dXJlLXBhcnQ"


def redact(text: str) -> str:
    return Redactor()(text.encode()).decode()


@pytest.mark.parametrize(
    "text, secret",
    [
        (f"env: {HF}", HF),
        ("Incorrect key sk-proj-abcdEFGH1234_5678ijkl given", "sk-proj-abcdEFGH1234_5678ijkl"),
        ("git clone with ghp_0123456789abcdefghijABCDEFGHIJ", "ghp_0123456789abcdefghijABCDEFGHIJ"),
        ("key AKIAABCDEFGHIJKLMNOP here", "AKIAABCDEFGHIJKLMNOP"),
        (f"cookie header {JWT}", JWT),
        ("NGC nvapi-abcdefghijklmnopqrstuvwxyz0123", "nvapi-abcdefghijklmnopqrstuvwxyz0123"),
        ("curl -H 'Authorization: Bearer abc.def-123' http://h/v1", "abc.def-123"),
        ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ('{"Authorization": "Bearer opensesame"}', "opensesame"),
        ("export WANDB_API_KEY=0123456789abcdef", "0123456789abcdef"),
        ("OPENAI_KEY=topsecret", "topsecret"),
        ("DB_PASSWORD='two words'", "two words"),
        ("MYSQL_PWD=geheim", "geheim"),
        ("AWS_SECRET_ACCESS_KEY=abc/def+ghi", "abc/def+ghi"),
        ("docker run -e HF_TOKEN=plainvalue -e NCCL_DEBUG=INFO img", "plainvalue"),
        ('"Env": ["HF_TOKEN=plainvalue", "PATH=/usr/bin"]', "plainvalue"),
        ('{"password": "p\\"q,r"}', 'p\\"q,r'),
        ("{'api_key': ['geheim1'], 'model': 'x'}", "geheim1"),
        ("ServerArgs(model='m', api_key='geheim2', port=8000)", "geheim2"),
        ('"{\\"secret\\": \\"geheim3\\"}"', "geheim3"),
        ("  registry_password: geheim4", "geheim4"),
        ("password: two words", "two words"),
        ("vllm serve m --api-key geheim5 --port 1", "geheim5"),
        ("vllm serve m --api-key=geheim5 --port 1", "geheim5"),
        ("vllm\0serve\0--api-key\0geheim6\0--port\0001", "geheim6"),
        ('"Cmd": ["--hf-token", "geheim7", "--port"]', "geheim7"),
        ('"Cmd": [\n  "--hf-token",\n  "geheim7"\n]', "geheim7"),
        ("mysql --password geheim8", "geheim8"),
        ("https://user:geheim9@proxy.example:3128", "geheim9"),
        ("redis://:geheim9@cache:6379", "geheim9"),
        ("https://0123456789abcdef@git.example/x", "0123456789abcdef"),
        ("curl -s -u admin:geheim10 https://h", "geheim10"),
        ("machine h login me password geheim11", "geheim11"),
        ("machine h\nlogin me\npassword geheim11\n", "geheim11"),
        ('{"auths": {"nvcr.io": {"auth": "JG9hdXRoOng="}}}', "JG9hdXRoOng="),
        ("- name: HF_TOKEN\n  value: geheim12\n", "geheim12"),
        ('{"name": "HF_TOKEN", "value": "geheim12"}', "geheim12"),
        ("HF_TOKEN=a b c\0NCCL_DEBUG=INFO\0", "a b c"),
        ("HOME=/root\nDB_PASSWORD=a, b; c\nUSER=x\nSHELL=/bin/sh\n", "a, b; c"),
        ("GET /v1?api_key=geheim13&x=1", "geheim13"),
    ],
)
def test_secrets_go_and_lines_stay(text: str, secret: str) -> None:
    redacted = redact(text)
    assert secret not in redacted
    assert "<redacted:1>" in redacted
    assert redacted.count("\n") == text.count("\n")
    assert redacted.count("\0") == text.count("\0")


@pytest.mark.parametrize(
    "text",
    [
        "non-default args: {'max_num_batched_tokens': 8192, 'tokenizer': 'Qwen/Qwen3'}",
        "eos_token_id=2 pad_token='<pad>' bos_token: <s> next_token=5 token=7",
        "--max-num-batched-tokens 8192 --tokenizer x --tokenizer-mode auto --enable-prefix-caching",
        "TOKENIZERS_PARALLELISM=false",
        "secret: changed",
        'test "${secret:--}"',
        "HF_TOKEN_PATH=/root/.cache/huggingface/token",
        "PWD=/root\nOLDPWD=/tmp",
        "api_key=None, password=null, token: true",
        "HF_TOKEN=$HF_TOKEN --api-key ${KEY}",
        "NCCL INFO comm 0x55 rank 1 nranks 8 busId c1000 commId 0xabc",
        "generation tokens: 12.0 tokens/s, KV cache usage: 0.1%",
        "task-scheduling-of-the-long-name sk-short",
        "ssh://git@github.com/x http://10.0.0.1:8000/v1",
        "docker run --user 1000:1000 img",
        "    return self.model(input_ids, token=token)",
        "GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    ],
)
def test_evidence_stays(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_goes_whole() -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n  AAAAB3Nz\n-----END OPENSSH PRIVATE KEY-----\nafter it\n"
    redacted = redact(key)
    assert "b3BlbnNzaC1rZXk" not in redacted and "AAAAB3Nz" not in redacted
    assert redacted.count("\n") == key.count("\n")
    assert redacted.endswith("-----END OPENSSH PRIVATE KEY-----\nafter it\n")


def test_a_private_key_in_json_goes() -> None:
    text = json.dumps(
        {"key": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIabc\n-----END RSA PRIVATE KEY-----\n"}
    )
    redacted = redact(text)
    assert "MIIabc" not in redacted
    json.loads(redacted)


def test_a_cut_private_key_goes_too() -> None:
    assert "MIIabc" not in redact("-----BEGIN PRIVATE KEY-----\nMIIabc\nMIIdef")


def test_one_secret_has_one_number_in_all_texts() -> None:
    redactor = Redactor()
    first = redactor(f"HF_TOKEN={HF}\n".encode())
    second = redactor(f"vllm serve --hf-token {HF} --api-key another1secret2\n".encode())
    assert first == b"HF_TOKEN=<redacted:1>\n"
    assert second == b"vllm serve --hf-token <redacted:1> --api-key <redacted:2>\n"
    assert redactor(b"got 'another1secret2' from client\n") == b"got '<redacted:2>' from client\n"
    assert redactor.counts["Hugging Face token"] == 2
    assert redactor.counts["named secret"] == 1


def test_redacting_twice_changes_nothing() -> None:
    once = redact(f"HF_TOKEN={HF}\nhttps://u:abcdefgh@h\nAuthorization: Bearer xyz\n--password x1\n")
    assert redact(once) == once


@given(st.text(alphabet=st.sampled_from("tokenTOKEN=:\"'\\ \n\0-_/@[]{},.apikey<>0x")))
def test_lines_stay_whatever_the_text(text: str) -> None:
    data = text.encode()
    assert Redactor()(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize(
    "piece",
    [
        "token",
        "-",
        "--api-key ",
        "-----BEGIN PRIVATE KEY-----\n",
        "eyJaaaaaa.",
        "://a:",
        "name: token ",
        " ",
        "a",
        "login a ",
        '\\"',
        "curl ",
        "A=",
        "bearer ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    begun = time.monotonic()
    Redactor()((piece * (300_000 // len(piece))).encode())
    assert time.monotonic() - begun < 5


def test_marks_are_plain() -> None:
    assert re.fullmatch(r"api_key=<redacted:\d+>", redact("api_key=geheim"))


def test_no_question_of_a_probe_is_taken_for_a_secret() -> None:
    words = [word for probe in probes.ALL for ask in probe.asks if isinstance(ask, Command) for word in ask.argv]
    assert [word for word in words if redact(word) != word] == []
