"""A fake embedding server on loopback that speaks the shapes of Ollama and OpenAI."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mempal.core.vector import unpack
from mempal.testing import HashEmbedder

MODEL = HashEmbedder(dimensions=16)


@dataclass
class Reply:
    """What the server sends back; ``None`` for the body closes the connection without a word."""

    body: object = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    document: dict[str, Any]


def embed(text: str) -> list[float]:
    return list(unpack(MODEL.embed_query(text)))


def answer_well(request: Request) -> Reply:
    if request.path == "/api/embeddings":
        return Reply({"embedding": embed(request.document["prompt"])})
    vectors = [embed(text) for text in request.document["input"]]
    if request.path == "/api/embed":
        return Reply({"model": request.document["model"], "embeddings": vectors})
    items = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in enumerate(vectors)
    ]
    return Reply({"object": "list", "data": items})


@dataclass
class Endpoint:
    """A running server: its address, what it was asked, and how it answers."""

    url: str
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Reply] = answer_well


@contextmanager
def run_endpoint() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Request(self.path, dict(self.headers), json.loads(body))
            endpoint.requests.append(request)
            reply = endpoint.answer(request)
            if reply.body is None:
                return
            encoded = reply.encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(encoded)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(encoded)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
