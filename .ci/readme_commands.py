"""Run every `sh` block of a Markdown file, as a reader would paste it; stop at the first that fails.

Blocks share one shell, so that what one exports the next sees, and start in the repository's folder.
A line ending in `# exits N` says that its command is meant to exit with N.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"#\s*exits (\d+)\s*$")
MAKE = re.compile(r"^make (test|check|bench|lock)\b")  # CI calls the first two itself


def script(markdown: str) -> str:
    """Turn the blocks into one bash script that echoes each command and checks its status."""
    lines = ["set -uo pipefail", 'export PATH="$PWD/.venv/bin:$PATH"']
    for command in commands(markdown):
        wanted = EXPECTED.search(command)
        lines += [
            f"echo {shell_quote('$ ' + command)}",
            command,
            f"status=$?; if [ $status -ne {wanted.group(1) if wanted else 0} ]; then "
            'echo "README: that command exited with $status" >&2; exit 1; fi',
        ]
    return "\n".join([*lines, "echo 'README: every command did what it says'"])


def commands(markdown: str) -> list[str]:
    """Give the commands of all blocks; a backslash at a line's end joins it with the next."""
    text = "\n".join(block.replace("\\\n", " ") for block in BLOCK.findall(markdown))
    found = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [command for command in found if not MAKE.match(command)]


def shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def main() -> int:
    markdown = Path(sys.argv[1]).read_text(encoding="utf-8")
    if not commands(markdown):
        print(f"{sys.argv[1]}: no sh block holds a command", file=sys.stderr)
        return 1
    environment = os.environ | {"CI": "true"}
    return subprocess.run(
        ["bash", "-c", script(markdown)], env=environment, timeout=600, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
