import subprocess
import sys
import time

from judging import text
from mangling import parses_anything

from qops.evidence.engine import MetricsSample
from qops.evidence.text import Text
from qops.probes import engine_metrics
from qops.transports.base import lines

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="acme/one"} 3.0
vllm:num_requests_running{engine="1",model_name="acme/one"} 4.0
vllm:generation_tokens_total{engine="0",model_name="acme/one"} 1.2e+06
vllm:e2e_request_latency_seconds_bucket{engine="0",le="+Inf",model_name="a b} c"} 12.0
vllm:e2e_request_latency_seconds_count{engine="0",model_name="a b} c"} 12.0
vllm:generation_tokens_created{engine="0",model_name="acme/one"} 1.7e+09
process_resident_memory_bytes 1.5e+09
vllm:broken{a="b"} NaN
"""

SGLANG = """\
sglang:num_running_reqs{model_name="acme/two",tp_rank="0"} 2.0 1790000000000
sglang:gen_throughput 0.0
"""


def read(content: str) -> tuple[MetricsSample, ...]:
    found = engine_metrics.parse([text(content)])
    return found.samples if found else ()


def test_sums_over_labels() -> None:
    (sample,) = read(VLLM)
    assert sample.values == {
        "vllm:num_requests_running": 7.0,
        "vllm:generation_tokens_total": 1.2e6,
        "vllm:e2e_request_latency_seconds_count": 12.0,
        "process_resident_memory_bytes": 1.5e9,
    }
    assert (sample.quote.line, sample.port, sample.at) == (3, None, None)


def test_each_port_and_each_moment_is_a_sample_and_they_are_in_order() -> None:
    answer = f"=== metrics port 8000\n{VLLM}=== metrics port 30000\n{SGLANG}=== metrics port 30001\nno answer\n"
    texts = [Text("metrics", lines(answer.encode()), at=at) for at in (10.2, 0.2)]
    found = engine_metrics.parse(texts)
    assert found is not None
    assert [(s.at, s.port) for s in found.samples] == [(0.2, 8000), (0.2, 30000), (10.2, 8000), (10.2, 30000)]
    assert found.samples[1].values == {"sglang:num_running_reqs": 2.0, "sglang:gen_throughput": 0.0}


def test_other_texts_are_left_alone() -> None:
    for other in (
        "process_cpu_seconds_total 4.0\n",
        "INFO vllm: started\n",
        "vllm:x\n",
        "=== metrics port 8000\nno answer\n",
    ):
        assert read(other) == ()


def test_the_number_of_names_is_bounded() -> None:
    (sample,) = read("\n".join(f"vllm:m{i}_total 1" for i in range(10_000)))
    assert len(sample.values) == engine_metrics.MOST_NAMES


def test_any_text_is_read() -> None:
    parses_anything(engine_metrics.PROBE, (VLLM, SGLANG), 300)


ENGINE = """
import http.server
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'vllm:prompt_tokens_total{engine="0"} 5.0\\n' if self.path == "/metrics" else b"")
    def log_message(self, *_): pass
s = http.server.HTTPServer(("127.0.0.1", 0), Page)
import os, sys
print(s.server_address[1], flush=True)
s.serve_forever()
"""

# The script finds engines by their command lines, so this one stands in for `vllm serve … --port N`.
LAUNCH = 'port=$1; exec "$2" -c "$3" vllm serve acme/one --port "$port"'


def test_the_script_finds_an_engine_by_its_command_line() -> None:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = ENGINE.replace('("127.0.0.1", 0)', f'("127.0.0.1", {port})')
    with subprocess.Popen(
        ["sh", "-c", LAUNCH, "sh", str(port), sys.executable, code], stdout=subprocess.PIPE
    ) as engine:
        assert engine.stdout is not None
        assert int(engine.stdout.readline()) == port
        begun = time.monotonic()
        (command,) = engine_metrics.PROBE.asks
        done = subprocess.run(getattr(command, "argv", ()), capture_output=True, timeout=20, check=True)
        engine.kill()
    assert time.monotonic() - begun < 9
    found = engine_metrics.parse([Text("metrics", lines(done.stdout), at=0.0)])
    assert found is not None
    assert (port, {"vllm:prompt_tokens_total": 5.0}) in [(s.port, s.values) for s in found.samples]
