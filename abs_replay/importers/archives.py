"""Members of a zip archive, read in memory: nothing is unpacked, and what they expand to is bounded."""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from abs_replay.importers.source import LARGEST, Source

MOST = 100_000  # members
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, struct.error)


class Archive:
    """An open archive; names are looked up in its directory, and lead nowhere else."""

    def __init__(self, source: Source, file: zipfile.ZipFile) -> None:
        self._source, self._file, self._left = source, file, LARGEST

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, each once, in their order."""
        return tuple(self._file.NameToInfo)

    def read(self, name: str) -> bytes:
        """Give a member's bytes; raises `UsageError`."""
        try:
            with self._file.open(name) as member:
                data = member.read(self._left + 1)
        except NotImplementedError:
            raise self._source.wrong(f"{name} is packed in a way that is not known; pack it anew") from None
        except RuntimeError:
            raise self._source.wrong(f"{name} is encrypted; decrypt it first") from None
        except _BROKEN as error:
            raise self._source.wrong(f"{name} can not be unpacked ({error}); get the file anew") from None
        if len(data) > self._left:
            raise self._source.wrong(f"expands to more than {LARGEST >> 20} MiB; split it")
        self._left -= len(data)
        return data


def is_archive(source: Source) -> bool:
    """Whether the bytes begin like a zip archive."""
    return source.data.startswith(b"PK\x03\x04")


@contextmanager
def opened(source: Source) -> Iterator[Archive]:
    """Open an archive; raises `UsageError`."""
    try:
        file = zipfile.ZipFile(io.BytesIO(source.data))
    except (*_BROKEN, NotImplementedError) as error:
        raise source.wrong(f"is no zip archive that can be read ({error}); get it anew") from None
    with file:
        if len(file.infolist()) > MOST:
            raise source.wrong(f"holds more than {MOST} files; split it")
        yield Archive(source, file)
