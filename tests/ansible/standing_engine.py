#!/usr/bin/python3
"""An engine that is none, for practice hosts: it answers as vLLM does, and dies or lies as it is told.

vllm serve --port 8020 --served-model-name tiny --says "It is Paris."   under that name, so that it counts as vLLM
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

running = 0


def main() -> int:
    """Serve until SIGTERM, and then until the requests that run have ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["serve"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--served-model-name", default="tiny")
    parser.add_argument("--says", default="It is Paris.")
    parser.add_argument("--hangs", action="store_true", help="never answers")
    parser.add_argument("--slow", type=float, default=0, help="how many seconds it takes to start")
    parser.add_argument("--dies", action="store_true", help="ends while it starts")
    parser.add_argument("--template", default="good", choices=["good", "broken"])
    chosen = parser.parse_args()
    if chosen.dies:
        sys.stderr.write("RuntimeError: Cannot find any model weights\n")
        return 1
    if chosen.hangs:
        time.sleep(3600)
    time.sleep(chosen.slow)
    server = ThreadingHTTPServer((chosen.host, chosen.port), handler(chosen))
    server.daemon_threads = False  # `server_close` waits for what runs

    def stop(*_: object) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    server.serve_forever(0.1)
    server.server_close()
    return 0


def handler(chosen: argparse.Namespace) -> type[BaseHTTPRequestHandler]:
    """Return what answers requests."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, f'vllm:num_requests_running{{model_name="tiny"}} {float(running)}\n')
            elif self.path == "/environment":  # what a test wants to know
                self._answer(200, {"VLLM_API_KEY": len(os.environ.get("VLLM_API_KEY", ""))})
            else:
                self._answer(200, {"object": "list", "data": [{"id": chosen.served_model_name}]})

        def do_POST(self) -> None:
            global running
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = os.environ.get("VLLM_API_KEY", "")
            if key and self.headers.get("Authorization") != f"Bearer {key}":
                self._answer(401, {"error": "Unauthorized"})
                return
            if chosen.template == "broken":
                self._answer(400, {"error": {"message": "chat template cannot be rendered"}})
                return
            running += 1
            try:
                time.sleep(body.get("seconds", 0))
                choice = {"message": {"content": chosen.says}, "finish_reason": "stop"}
                self._answer(200, {"choices": [choice], "usage": {"completion_tokens": len(chosen.says.split())}})
            finally:
                running -= 1

        def _answer(self, status: int, content: Any) -> None:
            said = content if isinstance(content, str) else json.dumps(content)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(said.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler


if __name__ == "__main__":
    sys.exit(main())
