"""A package index on loopback, whose wheels are read by ranges."""

from http.server import BaseHTTPRequestHandler


class Index(BaseHTTPRequestHandler):
    """Answers for the wheels `names`, which all hold `wheel`; `sent` counts the bytes of ranges."""

    sent = 0
    names: tuple[str, ...] | list[str] = ()
    wheel = b""

    def do_HEAD(self) -> None:
        self._answer(b"", len(self.wheel))

    def do_GET(self) -> None:
        project = self.path.removeprefix("/simple/").strip("/")
        own = [name for name in self.names if name.startswith(f"{project}-")]
        if own:
            self._answer("".join(f'<a href="/files/{name}#sha256=0">{name}</a>' for name in own).encode())
        elif begin := self.headers.get("Range"):
            first, last = (int(one) for one in begin.removeprefix("bytes=").split("-"))
            body = self.wheel[first : last + 1]
            type(self).sent += len(body)
            self._answer(body, status=206)
        else:
            self.send_error(404)

    def _answer(self, body: bytes, length: int | None = None, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
