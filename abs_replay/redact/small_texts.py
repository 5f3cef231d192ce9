"""The texts of an exchange beside its bodies: taken out in one order, and put back in the same."""

import re
from collections.abc import Iterator
from dataclasses import replace

from abs_replay.exchange import Exchange, Headers
from abs_replay.redact.placeholders import PLACEHOLDER

_PLACEHOLDER = re.compile(PLACEHOLDER.pattern.decode())


def small_texts(exchange: Exchange) -> Iterator[str]:
    """Method, target, host, headers and trailers, reason, error."""
    request, response = exchange.request, exchange.response
    yield request.method
    yield request.target
    yield request.host
    yield exchange.error or ""
    for each in request.headers:
        yield from each
    if response is not None:
        yield response.reason
        for each in response.headers:
            yield from each
        for each in response.trailers:
            yield from each


def with_small_texts(exchange: Exchange, texts: Iterator[str]) -> Exchange:
    """The exchange with other texts, in the order of `small_texts`."""
    method, target, host, error = _token(next(texts)), next(texts), next(texts), next(texts)
    request = exchange.request
    request = replace(
        request, method=method, target=target, host=host, headers=_headers(request.headers, texts)
    )
    response = exchange.response
    if response is not None:
        reason = next(texts)
        headers, trailers = _headers(response.headers, texts), _headers(response.trailers, texts)
        response = replace(response, reason=reason, headers=headers, trailers=trailers)
    return replace(exchange, request=request, response=response, error=error or exchange.error)


def _headers(headers: Headers, texts: Iterator[str]) -> Headers:
    return tuple([(_token(next(texts)), next(texts)) for _ in headers])


def _token(text: str) -> str:
    """A method's or header's name in which a placeholder stands as such names may be (RFC 9110 §5.6.2)."""
    return _PLACEHOLDER.sub(r"redacted-\1-\2", text) if "<" in text else text
