"""Sends the bodies of those wires that need no vendor's package: JSON over httpx."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from abs_replay.exact_json import Json
from abs_replay.judges.calling import Arrived, written
from abs_replay.judges.settings import hidden

if TYPE_CHECKING:
    import httpx


class Poster:
    """One connection pool to one address; opened with the first body."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._url, self._headers, self._timeout = url, dict(headers), timeout
        self._client: httpx.AsyncClient | None = None

    async def post(self, body: Mapping[str, Json], headers: Mapping[str, str] = {}) -> Arrived:
        """Post a body; raises `ConnectionError` or `TimeoutError` where there is no response."""
        import httpx

        if self._client is None:
            limits = httpx.Limits(max_connections=None)  # how many go at once is the panel's business
            checked = self._url.startswith("https:")  # certificates take long to load, and http has none
            self._client = httpx.AsyncClient(timeout=self._timeout, limits=limits, verify=checked)
        headers = {"content-type": "application/json", **self._headers, **headers}
        try:
            response = await self._client.post(self._url, content=written(body).encode(), headers=headers)
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise ConnectionError(str(error) or type(error).__name__) from None
        return Arrived(response.status_code, response.headers, hidden(response.text, *_secrets(headers)))

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _secrets(headers: Mapping[str, str]) -> Iterator[str]:
    """What must not be told on, should the service repeat it."""
    for name, value in headers.items():
        if name.lower() not in ("content-type", "anthropic-version", "x-amz-date"):
            yield value.removeprefix("Bearer ")
