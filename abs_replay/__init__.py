"""Record what an agent and its tools said on the wire, replay it without them, grade it again."""

__version__ = "0.1.0"
