"""What the evaluators of installed packages derive their models from.

Its fields are those of `rules.BuiltIn`; a test holds them together.
"""

from pydantic import BaseModel, ConfigDict, Field


class Rule(BaseModel):
    """What every evaluation may carry besides its own fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, defer_build=True
    )

    type: str
    blocking: bool = False
    threshold: float | None = Field(default=None, ge=0, le=1)
    adapter: str | None = None
    when: str | None = None
    reason: str | None = None
    dataset: str | None = None
    prompt: str | None = None
