"""An engine that is not one: answers like vLLM, hangs, lies or refuses, as a test tells it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FakeEngine:
    """Listens on a port of its own while it is used as a context. `mode` may change at any time.

    Modes: "well", "hang" (models answer, no token comes), "dead" (nothing answers), "draining" (500), "loading" (503),
    "no-template" (chat is refused with 400), "refuses" (400 to all).
    """

    def __init__(self, model: str = "tiny", mode: str = "well", key: str = "") -> None:
        self.model, self.mode, self.key = model, mode, key
        self.tokens = 0  # what the counter says
        self.asked: list[str] = []
        self.over = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> "FakeEngine":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def answer(self, path: str) -> tuple[int, Any] | None:
        """Return status and body; None: never."""
        if self.mode == "loading":
            return 503, {}
        if path == "/metrics":
            return 200, f'vllm:generation_tokens_total{{model_name="{self.model}"}} {self.tokens}.0\n'
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": self.model}]}
        if self.mode == "hang":
            return None
        if self.mode == "draining":
            return 500, {"error": {"message": "cannot schedule new futures after shutdown"}}
        if self.mode == "refuses" or (self.mode == "no-template" and "chat" in path):
            return 400, {"error": {"message": "no chat template"}}
        # As with a reasoning parser, nothing is in the content.
        choice = {"message": {"content": None}, "finish_reason": "length"}
        return 200, {"choices": [choice], "usage": {"completion_tokens": 1}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._answer()

            def _answer(self) -> None:
                engine.asked.append(self.path)
                found: tuple[int, Any] | None = engine.answer(self.path)
                if engine.mode == "dead":
                    found = None
                if engine.key and self.headers.get("Authorization") != f"Bearer {engine.key}":
                    found = 401, {"error": "Unauthorized"}
                if found is None:
                    engine.over.wait(60)
                    return
                status, body = found
                content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
