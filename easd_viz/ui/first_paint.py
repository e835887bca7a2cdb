"""What the page shows before Gradio has started: our scripts and style in the page itself, and the first example, as recorded.

Gradio's ``head=`` and ``css=`` travel in its configuration, which its scripts get to a second or more after the page has come.
``FirstPaint`` puts ours where a browser finds them at once. The stand-in (``assets/js/first.js``) is drawn by the app's own views
from the values that Gradio was given, and goes when the real page is there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import Any

from easd_viz import assets
from easd_viz.views import theme
from easd_viz.views.bundle import bundle

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@cache
def in_head() -> str:
    """Palette, a queue for components that come before the views, where plotly is, the style sheet."""
    palette = _in_script(json.dumps(theme.palette(), ensure_ascii=True))
    stand_in = "{queue:[],mount(...each){this.queue.push(each)},ready:new Promise((done)=>{window.easdReady=done})}"
    plotly = json.dumps(assets.url(assets.plotly_folder() / "plotly.min.js"))
    setup = f"window.easd={stand_in};window.easdPalette={palette};window.easdPlotly={plotly};"
    return f'<meta name="color-scheme" content="light dark"><style>{theme.css()}{assets.style()}</style><script>{setup}</script>'


def in_body(tabs: Sequence[str], prompt: str) -> str:
    """The stand-in, its places empty, and the views' script, which fills them."""
    names = "".join(f"<span>{escape(name)}</span>" for name in tabs)
    places = "".join(f'<div data-first="{name}"></div>' for name in ("hint", "cards", "tokens"))
    return (
        '<div id="ez-first" aria-busy="true" hidden>'
        f'<div class="ez-header"><div class="ez-name"><h1>EASD Viz</h1></div><div class="ez-first-tabs">{names}</div></div>'
        f'<div class="ez-run"><div class="ez-first-side"><b>Prompt</b><p>{escape(prompt)}</p><small>Loading the controls…</small>'
        f'</div><div class="ez-main">{places}</div></div></div>'
        f"<script>{_in_script(bundle(assets.scripts(), 'main.js'))}</script>"
    )


def _in_script(text: str) -> str:
    """Nothing in it ends a script element."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")


class FirstPaint:
    """ASGI middleware: puts ``head`` and ``body`` first in these parts of the page at ``/``; all else passes untouched."""

    def __init__(self, app: App, head: str, body: str) -> None:
        self.app, self.head, self.body = app, head, body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or scope["path"].removeprefix(scope.get("root_path", "")) not in ("", "/")
        ):
            await self.app(scope, receive, send)
            return
        start: Message = {}
        content = bytearray()

        async def collect(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            content.extend(message.get("body", b""))
            if message.get("more_body", False):
                return
            page = self.put_in(bytes(content))
            headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(page)).encode())]})
            await send({"type": "http.response.body", "body": page})

        await self.app(scope, receive, collect)

    def put_in(self, page: bytes) -> bytes:
        """The page with both parts; one that has no head or body (an error, a redirect) as it is."""
        head, body = page.find(b"<head>"), page.find(b"<body")
        inside = page.find(b">", body) + 1
        if head < 0 or body < head:
            return page
        after = head + len(b"<head>")
        return page[:after] + self.head.encode() + page[after:inside] + self.body.encode() + page[inside:]
