"""Names of the places in an exchange that show a thing, as `events` tells them."""

from typing import Final

EVENTS: Final = "response.events"


def place(base: str, first: int | None, last: int | None = None) -> str:
    """Name one item of a list (`base[2]`), neighbouring ones (`base[2-5]`), or no item but `base`."""
    if first is None:
        return base
    return f"{base}[{first}]" if last is None or first == last else f"{base}[{first}-{last}]"
