"""How fast a replay goes, as the command line says it."""

import click


class Timing(click.ParamType[float | None]):
    """`none` (None: no waiting), `recorded`, or `x10`: so many times faster."""

    name = "timing"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        text = str(value)
        if text in ("none", "recorded"):
            return None if text == "none" else 1.0
        try:
            speed = float(text.removeprefix("x")) if text.startswith("x") else 0.0
        except ValueError:
            speed = 0.0
        if not 0 < speed < 1e9:
            self.fail(f"{text!r}: expected none, recorded or xN (x10: ten times faster)", param, ctx)
        return speed
