"""The middleware puts its parts into the page and leaves every other answer as it was."""

import re

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from easd_viz.ui.first_paint import FirstPaint, in_body, in_head

PAGE = "<!doctype html><html><head><title>é</title></head><body style='a'>\n<p>text</p></body></html>"


@pytest.fixture
def client() -> TestClient:
    routes = [
        Route("/", lambda request: HTMLResponse(PAGE)),
        Route("/file", lambda request: HTMLResponse(PAGE)),
        Route("/none", lambda request: PlainTextResponse("<head>")),
    ]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(FirstPaint, head="<meta ü>", body="<b>ö</b>")]))


def test_both_parts_come_first(client: TestClient) -> None:
    answer = client.get("/?example=sheep")
    assert answer.text == PAGE.replace("<head>", "<head><meta ü>").replace("<body style='a'>", "<body style='a'><b>ö</b>")
    assert int(answer.headers["content-length"]) == len(answer.content)


@pytest.mark.parametrize("path", ["/file", "/none", "/nowhere"])
def test_other_answers_pass_untouched(client: TestClient, path: str) -> None:
    assert "ö" not in client.get(path).text


def test_a_page_without_a_body_stays(client: TestClient) -> None:
    assert FirstPaint(None, "h", "b").put_in(b"<p>gone</p>") == b"<p>gone</p>"  # type: ignore[arg-type]


def test_nothing_that_is_put_in_ends_its_script() -> None:
    for part in (in_head(), in_body(["Run", "<i>"], "a </script> & <b>")):
        assert len(re.findall("<script", part)) == len(re.findall("</script>", part)) == 1
    assert "&lt;i&gt;" in in_body(["<i>"], "")
