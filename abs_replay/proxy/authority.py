"""The certificate authority with which the forward listener speaks for other hosts, and who is to trust it.

It is made once and kept in the user's state directory: whoever has its key can speak for any host to a client
that trusts it. So its folder is for its owner alone, and it is only ever given to the program under test.
"""

import datetime
import os
import shutil
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import certifi
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy import certs

from abs_replay.errors import RecordingError, UsageError

NAME = "abs-replay recorder"
KEY_BITS = 2048
BEGIN, END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"

# Variables that replace a program's roots, or add to them: what they name now is trusted further on.
MORE_ROOTS = (
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
)


@dataclass(frozen=True, slots=True)
class Authority:
    """Where a certificate authority lies: with its key, and the certificate alone, to be trusted."""

    folder: Path

    @property
    def key(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        return self.folder / "ca-cert.pem"

    def certificates(self) -> certs.CertStore:
        """What makes a certificate for every host."""
        return certs.CertStore.from_files(self.key, self.folder / "dhparam.pem")


def state_folder(environ: Mapping[str, str]) -> Path:
    """Where a user's state lies: ABS_STATE, or abs-replay in XDG_STATE_HOME or ~/.local/state."""
    if named := environ.get("ABS_STATE"):
        return Path(named).expanduser().absolute()
    above = environ.get("XDG_STATE_HOME") or Path(environ.get("HOME") or Path.home(), ".local", "state")
    return Path(above, "abs-replay").absolute()


def authority(environ: Mapping[str, str]) -> Authority:
    """The user's authority, made if there is none yet, or none that is valid; raises `RecordingError`."""
    state = state_folder(environ)
    found = Authority(state / "ca")
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        if found.folder.exists() and not _is_valid(found):
            shutil.rmtree(found.folder)
        if not found.folder.exists():
            _make(found)
        found.folder.chmod(0o700)
        found.key.chmod(0o600)
    except OSError as error:
        reason = f"{error.filename or state}: {error.strerror or error}"
        raise RecordingError(
            f"no certificate authority can be kept at {reason}; ABS_STATE names another folder"
        ) from error
    return found


def _is_valid(found: Authority) -> bool:
    try:
        made = x509.load_pem_x509_certificate(found.certificate.read_bytes())
        found.key.read_bytes()
    except (FileNotFoundError, ValueError):
        return False
    return made.not_valid_after_utc > datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)


def _make(wanted: Authority) -> None:
    """Make it aside and move it into place whole: two recorders may begin at once, and the first one wins."""
    aside = Authority(Path(tempfile.mkdtemp(prefix="ca-", dir=wanted.folder.parent)))
    try:
        key, made = certs.create_ca(organization=NAME, cn=NAME, key_size=KEY_BITS)
        public = made.public_bytes(serialization.Encoding.PEM)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        _write(aside.key, private + public)
        _write(aside.certificate, public)
        with suppress(FileExistsError):
            aside.folder.rename(wanted.folder)
    except OSError:
        if not wanted.folder.exists():
            raise
    finally:
        shutil.rmtree(aside.folder, ignore_errors=True)


def bundle(trusted: Authority, environ: Mapping[str, str]) -> Path:
    """A file with the user's roots and our authority, for a program; its name tells what is in it.

    Raises `RecordingError` where it can not be written, `UsageError` where SSL_CERT_FILE names no file.
    """
    blocks = dict.fromkeys([*_certificates(trusted.certificate.read_bytes()), *_roots(environ)])
    content = b"".join(block + b"\n" for block in blocks)
    path = trusted.folder.parent / f"roots-{sha256(content).hexdigest()[:12]}.pem"
    try:
        if not path.exists():
            descriptor, aside = tempfile.mkstemp(prefix=path.name, dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(aside, path)
    except OSError as error:
        raise RecordingError(f"{path} can not be written: {error.strerror or error}") from error
    return path


def roots(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """The file and the folder of the roots that a user's programs trust; raises `UsageError`."""
    named, defaults = environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths()
    if named and not os.path.isfile(named):
        raise UsageError(f"SSL_CERT_FILE={named}: there is no such file of certificates")
    folder = environ.get("SSL_CERT_DIR") or defaults.openssl_capath
    return named or certifi.where(), folder if os.path.isdir(folder) else None


def _roots(environ: Mapping[str, str]) -> Iterator[bytes]:
    file, folder = roots(environ)
    files = [Path(file), *(Path(environ[name]) for name in MORE_ROOTS if environ.get(name))]
    if not environ.get("SSL_CERT_FILE"):
        files += [Path(path) for path in (ssl.get_default_verify_paths().cafile,) if path]
    if folder:
        files += sorted(Path(folder).glob("[0-9a-f]*.[0-9]"))  # as OpenSSL looks for them
    for each in files:
        with suppress(OSError):  # whoever named it can not have read it either
            yield from _certificates(each.read_bytes())


def _certificates(text: bytes) -> Iterator[bytes]:
    for block in text.split(BEGIN)[1:]:
        yield BEGIN + block.partition(END)[0].replace(b"\r\n", b"\n") + END


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
