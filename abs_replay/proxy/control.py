"""What clients ask of the recorder itself, under `/__abs__/` of a listener: no upstream ever hears of it."""

import json
from collections.abc import Callable
from typing import Final

from mitmproxy import http

from abs_replay.callers import CONTROL
from abs_replay.exchange import Headers
from abs_replay.proxy.tap import LEFT_OUT

CONTROLS: Final = "abs-controls"  # a flow's metadata: it is meant for the recorder

type Control = Callable[[str, str, Headers, bytes], tuple[int, bytes]]  # method, path below, headers, body
type IsOurs = Callable[[http.HTTPFlow], bool]  # meant for the listener, not for what is behind it


def nothing_here(method: str, path: str, headers: Headers, body: bytes) -> tuple[int, bytes]:
    """The control of a listener that nobody gave one."""
    return 404, json.dumps({"error": f"there is no {CONTROL}{path} here"}).encode()


class ControlAddon:
    """The mitmproxy addon that answers control requests; it goes before the tap, which leaves them out."""

    def __init__(self, control: Control, is_ours: IsOurs) -> None:
        self.control, self._is_ours = control, is_ours

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if flow.request.data.path.startswith(CONTROL.encode()) and self._is_ours(flow):
            flow.metadata[CONTROLS] = flow.metadata[LEFT_OUT] = True

    def request(self, flow: http.HTTPFlow) -> None:
        if CONTROLS in flow.metadata:
            flow.response = self._answer(flow.request)

    def _answer(self, request: http.Request) -> http.Response:
        path = request.data.path.decode("latin-1").removeprefix(CONTROL)
        headers = tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers.fields)
        try:
            status, body = self.control(request.method, path, headers, request.raw_content or b"")
        except Exception as fault:  # raised into mitmproxy, it would send the request to the upstream
            status, body = 500, json.dumps({"error": f"the recorder failed: {fault!r}"}).encode()
        return http.Response.make(status, body, {"content-type": "application/json"})
