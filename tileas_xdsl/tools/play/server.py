"""
The server of `tileas play`: the page at `/`, and at `/show` what becomes of a program, one line of JSON an answer.

It listens on 127.0.0.1 and takes requests of its own page alone: another page cannot send JSON here, since a browser
asks first whether it may (CORS), nor under another name of this machine, since `Host` says which name was used.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cached_property
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from multiprocessing.connection import wait
from pathlib import PurePath
from typing import Any, cast

from tileas_xdsl.names import PASSES
from tileas_xdsl.targets.cycles import TARGETS
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.play.answers import MOST_SECONDS, MOST_TURNS, Answer, Asked, begin, warm_up
from tileas_xdsl.views.stages import COUNTS, HEADS, style_and_script_of_stages
from tileas_xdsl.views.timeline.html import html_page

HOST = "127.0.0.1"
MOST_SENT = 2 << 20
"""Bytes of a request."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:"
"""What the page may load: what stands in it, and answers of this server."""


class Server(ThreadingHTTPServer):
    """Serves one page, which begins with `asked`."""

    daemon_threads = True

    def __init__(self, asked: Asked, port: int) -> None:
        super().__init__((HOST, port), Handler)
        self.asked = asked

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self.server_port}/"

    @cached_property
    def page(self) -> bytes:
        """The page, as it is sent."""
        return page_of(self.asked).encode()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away is no error, and no request ends the server."""


@contextmanager
def serving(asked: Asked, port: int = 0) -> Generator[Server]:
    """The server, which does not answer yet: `serve_forever`. Raises `InputError` where the port is taken."""
    try:
        server = Server(asked, port)
    except OSError as error:
        raise InputError([f"error: --port {port}: {(error.strerror or str(error)).lower()}"]) from None
    warm_up()
    with server:
        yield server


class Handler(BaseHTTPRequestHandler):
    """One request."""

    @property
    def _ours(self) -> Server:
        assert isinstance(self.server, Server)
        return self.server

    def log_message(self, format: str, *args: Any) -> None:
        """The terminal stays as it is."""

    def do_GET(self) -> None:
        if not self._is_of_our_page():
            return
        if self.path.partition("?")[0] != "/":
            self._refuse(HTTPStatus.NOT_FOUND, f"error: there is no page {self.path}")
            return
        self._begin(HTTPStatus.OK, "text/html; charset=utf-8")
        self.wfile.write(self._ours.page)

    def do_POST(self) -> None:
        if not self._is_of_our_page():
            return
        try:
            asked = self._asked()
        except InputError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, error.messages[0])
            return
        self._begin(HTTPStatus.OK, "application/x-ndjson")
        with suppress(ConnectionError):
            self._answer(asked)

    def _is_of_our_page(self) -> bool:
        """Whether the page of this server asks; others are refused."""
        names = {f"{name}:{self._ours.server_port}" for name in (HOST, "localhost")}
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host in names and (origin is None or origin.removeprefix("http://") in names):
            return True
        self._refuse(HTTPStatus.FORBIDDEN, f"error: this server answers {self._ours.address} alone")
        return False

    def _asked(self) -> Asked:
        """Raises `InputError` for what our page does not send."""
        if self.path != "/show" or self.headers.get("Content-Type") != "application/json":
            raise InputError(["error: POST /show takes application/json"])
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MOST_SENT:
            raise InputError([f"error: a program has at most {MOST_SENT:,} bytes"])
        try:
            fields: Any = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise InputError(["error: this is no JSON"]) from None
        if not isinstance(fields, dict):
            raise InputError(["error: an object of JSON is needed"])
        return Asked.of(cast("dict[str, Any]", fields), self._ours.asked.name)

    def _answer(self, asked: Asked) -> None:
        """Send the answers as they come. The work ends when they are there, or when the page has gone away."""
        process, answers = begin(asked)
        try:
            while True:
                if self.connection in wait([answers, self.connection]) and self._has_gone():
                    return
                if not answers.poll():
                    continue
                answer = answers.recv()
                if answer is None:
                    return
                self._send(answer)
        except EOFError:
            process.join()
            self._send({"error": _why_it_ended(process.exitcode)})
        finally:
            process.kill()
            process.join()
            answers.close()

    def _has_gone(self) -> bool:
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def _send(self, answer: Answer) -> None:
        self.wfile.write(json.dumps(answer).encode() + b"\n")
        self.wfile.flush()

    def _refuse(self, status: HTTPStatus, line: str) -> None:
        self._begin(status, "application/x-ndjson")
        self._send({"error": line})

    def _begin(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()


def _why_it_ended(status: int | None) -> str:
    """The line for a process that has ended before its last answer."""
    limits = f"{MOST_SECONDS} seconds of processor time, or its memory, were used up"
    return f"error: the work ended without an answer (status {status}): {limits}"


# The page -------------------------------------------------------------------------------------------------------------


def page_of(asked: Asked) -> str:
    """The page that begins with `asked`."""
    folder = files("tileas_xdsl.tools.play")
    style, script = style_and_script_of_stages()
    style += folder.joinpath("page.css").read_text(encoding="utf-8")
    script += folder.joinpath("page.js").read_text(encoding="utf-8")
    name = PurePath(asked.name).name
    options = "".join(_option(target, target, asked.target == target) for target in TARGETS)
    passes = "".join(_option(name, name) for name in sorted({*PASSES, "tileir"}))
    heads = "".join(f'<th class="count">{head}</th>' if head in COUNTS else f"<th>{head}</th>" for head in HEADS)
    body = f"""
<main class="play road">
<form class="asked" autocomplete="off">
<h1>{escape(name)}</h1>
<div class="editor"><pre aria-hidden="true"></pre>
<textarea name="text" aria-label="program" wrap="off" spellcheck="false" autocapitalize="off"
>\n{escape(asked.text)}</textarea></div>
<p class="problem" role="alert" hidden></p>
<label>passes <input name="passes" value="{escape(asked.passes)}" spellcheck="false" autocapitalize="off"></label>
<div class="choices">
<label>add <select name="pass" aria-label="add a pass"><option value="">a pass</option>{passes}</select></label>
<label>target <select name="target">{_option("", "of the program", asked.target is None)}{options}</select></label>
<label>iterations <input name="trip_count" type="number" min="0" max="{MOST_TURNS}" value="{asked.trip_count}"></label>
<button type="button" name="share">Save as one page</button>
</div>
</form>
<div class="shown">
<p class="state" role="status"></p>
<div class="table"><table><thead><tr>{heads}</tr></thead><tbody></tbody></table></div>
<div class="stages"></div>
</div>
</main>"""
    return html_page(f"{name}: tileas play", body, style, script)


def _option(value: str, text: str, is_chosen: bool = False) -> str:
    return f'<option value="{escape(value)}"{" selected" if is_chosen else ""}>{escape(text)}</option>'
