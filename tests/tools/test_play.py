"""`tileas play`: what a page is told of a program, a server that goes on whatever is asked, and the page itself."""

from __future__ import annotations

import json
import operator
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.support.browser import browser
from tests.support.ir import ROOT
from tests.tools.conftest import Run
from tileas_xdsl.tools.errors import InputError
from tileas_xdsl.tools.play import answers
from tileas_xdsl.tools.play.answers import Asked, answers_to
from tileas_xdsl.tools.play.server import Server, page_of, serving

GEMM = (ROOT / "examples" / "gemm_loop.mlir").read_text()
RACE = (ROOT / "examples" / "double_buffer_race.mlir").read_text()
RIGHT = "func.func @f() {\n  func.return\n}\n"
JSON = {"Content-Type": "application/json"}


def told(answer: dict[str, str | list[str]]) -> str:
    """The verdict of a stage, or the line that says what is wrong."""
    return re.sub(r"<[^>]*>", "", answer["cells"][3]) if "cells" in answer else str(answer["error"])


# What becomes of a program --------------------------------------------------------------------------------------------


def test_each_stage_has_its_verdict_and_its_part_of_the_page() -> None:
    stages = list(answers_to(Asked(GEMM, "tileas-materialize-async,canonicalize", "sm_90", 2)))
    assert [told(stage) for stage in stages] == ["safe for every trip count"] * 3
    assert all('<section class="tl"' in stages[k]["section"] for k in (0, 1))
    assert 'id="stage-2"' in stages[2]["section"]


def test_a_mistake_is_shown_in_its_stage() -> None:
    (stage,) = answers_to(Asked(RACE))
    assert told(stage) == "unsafe: race"
    assert 'class="found"' in stage["section"]


@pytest.mark.parametrize(
    ("text", "passes", "said"),
    [
        ("oops", "", "program.mlir:1:1: error: "),
        ("func.func @f() {", "", "program.mlir:1:"),
        ("\0\udcff", "", "program.mlir:1:1: error: "),
        ("(" * 100_000, "", "program.mlir:1:1: error: "),
        (RIGHT, "canonicalise", "error: -p: there is no pass 'canonicalise'; did you mean 'canonicalize'?"),
        (RIGHT, "cse{", "error: "),
        (RIGHT, "tileir{opt-level=3}", "tileir{opt-level=3}: error: tileir: opt-level=3 is read by no pass yet"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, passes: str, said: str) -> None:
    line = told(list(answers_to(Asked(text, passes)))[-1])
    assert line.startswith(said)
    assert "\n" not in line
    assert "defect" not in line


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": 3}, "are strings"),
        ({"text": "", "target": "sm_1"}, "there is no target 'sm_1'"),
        ({"text": "", "trip_count": "-1"}, "a trip count is"),
        ({"text": "", "trip_count": "99999"}, "a trip count is"),
        ({"text": "", "trip_count": None}, "a trip count is"),
    ],
)
def test_what_no_page_of_ours_would_ask_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Asked.of(fields, "p.mlir")


# The server -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with serving(Asked(RACE, target="sm_90", name="race.mlir")) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(
    server: Server, body: str, headers: dict[str, str] = JSON, path: str = "/show", method: str = "POST"
) -> tuple[int, list[str]]:
    """The status of an answer, and what its lines tell."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    lines = [told(json.loads(line)) for line in response.read().splitlines()]
    connection.close()
    return response.status, lines


def is_well(server: Server) -> bool:
    return ask(server, json.dumps({"text": RIGHT})) == (200, ["safe for every trip count"])


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("body", "headers", "path", "method", "status"),
    [
        ("{}", {"Content-Type": "text/plain"}, "/show", "POST", 400),
        ("{}", JSON, "/other", "POST", 400),
        ("{", JSON, "/show", "POST", 400),
        ("[]", JSON, "/show", "POST", 400),
        ("[" * 100_000, JSON, "/show", "POST", 400),
        ("{}", {**JSON, "Content-Length": "99999999"}, "/show", "POST", 400),
        ("{}", {**JSON, "Content-Length": "many"}, "/show", "POST", 400),
        ("{}", {**JSON, "Host": "evil.example"}, "/show", "POST", 403),
        ("{}", {**JSON, "Origin": "http://evil.example"}, "/show", "POST", 403),
        ("", {"Host": "evil.example"}, "/", "GET", 403),
        ("", {}, "/etc/passwd", "GET", 404),
    ],
)
def test_other_requests_are_refused_in_one_line(
    body: str, headers: dict[str, str], path: str, method: str, status: int, server: Server
) -> None:
    found, lines = ask(server, body, headers, path, method)
    assert (found, len(lines)) == (status, 1)
    assert lines[0].startswith("error: ")


def test_it_goes_on_after_a_process_that_says_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_work", operator.eq)  # what a process can import at once, and that does nothing
    status, lines = ask(server, json.dumps({"text": RIGHT}))
    assert status == 200
    assert lines[0].startswith("error: the work ended without an answer (status 0)")
    monkeypatch.undo()
    assert is_well(server)


def test_it_goes_on_after_a_program_that_asks_for_all_memory(server: Server) -> None:
    text = "func.func @f() {\n  %x = memref.alloc() : memref<99999x99999x9xf64>\n  func.return\n}"
    status, lines = ask(server, json.dumps({"text": text}))
    assert (status, len(lines)) == (200, 1)
    assert is_well(server)


def test_it_goes_on_after_a_page_that_goes_away(server: Server) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    connection.request("POST", "/show", json.dumps({"text": GEMM, "passes": "tileir"}), JSON)
    connection.close()
    assert is_well(server)


def test_the_page_holds_what_the_command_was_given() -> None:
    page = page_of(Asked("</textarea><b>", 'a{b="c"}', "sm_90", 3, "folder/x.mlir"))
    assert "&lt;/textarea&gt;&lt;b&gt;</textarea>" in page
    assert 'value="a{b=&quot;c&quot;}"' in page
    assert '<option value="sm_90" selected>' in page
    assert "<title>x.mlir: tileas play</title>" in page
    assert not re.search(r"\bsrc\s*=|<link|@import|url\(|https?://(?!www\.w3\.org)", page)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--port", "70000"], "error: --port 70000: ports are 0 to 65535"),
        (["--target", "sm_1"], "error: --target: "),
        (["--trip-count", "-1"], "error: --trip-count -1"),
    ],
)
def test_wrong_options(options: list[str], said: str, tileas: Run) -> None:
    status, out, err = tileas("play", RIGHT, *options)
    assert (status, out) == (2, "")
    assert err.startswith(said)


def test_a_port_that_is_taken(server: Server, tileas: Run) -> None:
    status, _, err = tileas("play", RIGHT, "--port", str(server.server_port))
    assert (status, err) == (2, f"error: --port {server.server_port}: address already in use\n")


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "p.mlir").write_text(RIGHT)
    command = [sys.executable, "-m", "tileas_xdsl", "play", "p.mlir"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    ) as process:
        try:
            assert process.stdout is not None
            assert re.fullmatch(r"http://127.0.0.1:\d+/ shows p.mlir; Ctrl-C ends it\n", process.stdout.readline())
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (0, "")


# The page -------------------------------------------------------------------------------------------------------------


def test_the_page_follows_what_is_typed_and_is_saved_as_one_file(server: Server, tmp_path: Path) -> None:
    with browser(tmp_path, offline=False) as tab:
        tab.address = server.address
        page = tab.page
        page.goto(server.address)
        verdicts = page.locator(".shown tbody td:nth-child(4)")
        verdicts.filter(has_text="unsafe: race").wait_for(timeout=60_000)
        assert page.locator(".stages .tl .bar").count() > 0

        program = page.get_by_label("program", exact=True)
        program.fill("func.func @f() {\n  oops\n}")
        problem = page.get_by_role("alert")
        problem.wait_for(timeout=60_000)
        assert problem.inner_text().startswith("race.mlir:2:3: error: ")
        assert verdicts.all_inner_texts() == ["unsafe: race"], "it stays in sight, pale"
        assert page.locator(".stages .old").count() == 1

        program.fill(RACE.replace("wait 0, 2", "wait 0, 1"))
        verdicts.filter(has_text="safe for every trip count").wait_for(timeout=60_000)
        assert not problem.is_visible()
        page.get_by_label("add a pass").select_option("tileas-queue-to-pipeline")
        page.locator(".shown tbody tr:nth-child(2)").wait_for(timeout=60_000)
        assert page.locator("[name=passes]").input_value() == "tileas-queue-to-pipeline"
        page.get_by_text("2 stages").wait_for(timeout=60_000)

        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as one page").click()
        file = tmp_path / saved.value.suggested_filename
        saved.value.save_as(file)
        shown = verdicts.all_inner_texts()
        assert (file.name, len(shown)) == ("race.html", 2)

        assert tab.look_at(file) == []
        assert verdicts.all_inner_texts() == shown
        assert program.input_value() == RACE.replace("wait 0, 2", "wait 0, 1")
        assert not page.get_by_role("button", name="Save as one page").is_visible()
        page.locator(".stages .bar").first.click()
        assert page.locator(".bar.lit").count() >= 1, "its timeline still answers"
