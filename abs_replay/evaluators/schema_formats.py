"""The formats that `schema` asserts: all of 2020-12, each by a small library (SEMANTICS E4).

`jsonschema` itself knows IRIs by two packages: one is under the GPL, the other takes seconds to load.
So an IRI is mapped to a URI (RFC 3987, 3.1), and whether that is one is left to the checker of URIs.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema import FormatChecker
    from jsonschema.protocols import Validator

_URIS = {  # format: the rule of RFC 3986
    "uri": "URI",
    "uri-reference": "URI_reference",
    "iri": "URI",
    "iri-reference": "URI_reference",
}
_IRIS = ("iri", "iri-reference")
# Whose patterns end with `$`, behind which a line end may stand.
_LINES = ("date-time", "time", "hostname", "uri-template")
_STUMBLES = (ValueError, OverflowError, RecursionError)  # over what is none of their format

_PLANES = "".join(f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14))
_UCSCHAR = re.compile(f"[\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef{_PLANES}\U000e1000-\U000efffd]+")
_IPRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]+")
_QUERY = re.compile(r"\A[^?#]*\?[^#]*")  # private characters may stand there alone


@lru_cache(maxsize=8)
def formats_of(kind: "type[Validator]") -> "FormatChecker":
    """Give the checkers of a draft's formats, those of URIs and IRIs replaced by ours."""
    from jsonschema import FormatChecker

    checker = FormatChecker(())
    known = kind.FORMAT_CHECKER.checkers
    for name, (check, raises) in known.items():
        stumbles = raises if isinstance(raises, tuple) else (raises,)
        checker.checks(name, (*stumbles, *_STUMBLES))(_on_one_line(check) if name in _LINES else check)
    for name, rule in _URIS.items():
        # Without a package for IRIs the library knows none; they came together with names of hosts.
        if name in known or (name in _IRIS and "idn-hostname" in known):
            checker.checks(name)(_is_uri(rule, uri_of if name in _IRIS else str))
    return checker


def _on_one_line(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: not (isinstance(value, str) and "\n" in value) and check(value)


def _is_uri(rule: str, mapped: Callable[[str], str]) -> Callable[[object], bool]:
    from rfc3986_validator import validate_rfc3986  # type: ignore[import-untyped]

    def check(value: object) -> bool:
        return not isinstance(value, str) or validate_rfc3986(mapped(value), rule) is not None

    return _on_one_line(check)


def uri_of(iri: str) -> str:
    """Map an IRI to the URI that it stands for (RFC 3987, 3.1); what is none becomes none."""
    return _UCSCHAR.sub(_encoded, _QUERY.sub(lambda query: _IPRIVATE.sub(_encoded, query[0]), iri))


def _encoded(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())
