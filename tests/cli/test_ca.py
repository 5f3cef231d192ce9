"""The certificate authority is made once, for its owner's eyes alone, and said where it is."""

import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from abs_replay.cli.ca import command
from abs_replay.cli.failure import run
from abs_replay.cli.forwarding import BUNDLE_VARIABLES, way_through
from abs_replay.errors import RecordingError, UsageError
from abs_replay.routes import Routes
from tests.proxied import Forwarding, authority, bundle, roots, state_folder, write_certificate


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    environ = {"ABS_STATE": str(tmp_path / "state")}
    made = authority(environ)
    assert made.certificate.parent == tmp_path / "state" / "ca"
    assert (mode(tmp_path / "state"), mode(made.folder), mode(made.key)) == (0o700, 0o700, 0o600)
    assert b"PRIVATE KEY" in made.key.read_bytes()
    assert b"PRIVATE KEY" not in made.certificate.read_bytes()
    before = made.key.read_bytes()
    made.key.chmod(0o644)
    assert authority(environ).key.read_bytes() == before
    assert mode(made.key) == 0o600


def test_recorders_that_begin_at_once_have_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: authority({"ABS_STATE": str(tmp_path)}).key.read_bytes(), range(4)))
    assert len(set(made)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ca"]


def test_one_that_is_broken_or_over_is_made_anew(tmp_path: Path) -> None:
    environ = {"ABS_STATE": str(tmp_path)}
    made = authority(environ)
    made.certificate.write_text("nothing", encoding="ascii")
    assert authority(environ).certificate.read_bytes().startswith(b"-----BEGIN CERTIFICATE-----")


def test_where_it_can_not_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(
        RecordingError, match=r"no certificate authority can be kept at .*/file.*: .*ABS_STATE"
    ):
        authority({"ABS_STATE": str(tmp_path / "file" / "below")})


def test_the_state_of_a_user_is_where_systems_keep_it() -> None:
    assert state_folder({"HOME": "/home/u"}) == Path("/home/u/.local/state/abs-replay")
    assert state_folder({"HOME": "/home/u", "XDG_STATE_HOME": "/s"}) == Path("/s/abs-replay")
    assert state_folder({"HOME": "/home/u", "XDG_STATE_HOME": "/s", "ABS_STATE": "/a"}) == Path("/a")


def test_a_bundle_has_all_that_the_user_trusts_and_ours(tmp_path: Path) -> None:
    first, second = (write_certificate(tmp_path / name) for name in ("first.pem", "second.pem"))
    environ = {
        "ABS_STATE": str(tmp_path / "state"),
        "SSL_CERT_FILE": str(first),
        "SSL_CERT_DIR": str(tmp_path / "none"),
        "AWS_CA_BUNDLE": str(second),
        "PIP_CERT": str(tmp_path / "gone.pem"),
    }
    made = authority(environ)
    path = bundle(made, environ)
    text = path.read_text(encoding="ascii")
    assert text.count("BEGIN CERTIFICATE") == 3
    assert "PRIVATE" not in text
    assert text.startswith(made.certificate.read_text(encoding="ascii").strip())
    assert bundle(made, environ | {"SSL_CERT_FILE": str(path)}).read_text(encoding="ascii") == text


def test_whatever_variable_names_roots_leads_to_ours_with_those(tmp_path: Path) -> None:
    own = write_certificate(tmp_path / "own.pem")
    certificate, _, _ = own.read_text(encoding="ascii").partition("-----BEGIN PRIVATE")
    state = {"ABS_STATE": str(tmp_path / "state")}
    made = authority(state)
    for name in (*BUNDLE_VARIABLES, "NODE_EXTRA_CA_CERTS"):
        way = way_through("http://127.0.0.1:1", Forwarding(made, Routes()), state | {name: str(own)})
        given = Path(way.variables[name]).read_text(encoding="ascii")
        assert certificate.strip() in given
        assert made.certificate.read_text(encoding="ascii").strip() in given
        assert "SSL_CERT_DIR" not in way.variables

    elsewhere = way_through(
        "http://127.0.0.1:1", Forwarding(made, Routes()), state | {"SSL_CERT_DIR": str(tmp_path)}
    )
    assert elsewhere.variables["SSL_CERT_DIR"] == str(made.certificate.parent)


def test_roots_that_are_not_there_are_named() -> None:
    with pytest.raises(UsageError, match="SSL_CERT_FILE=/none: there is no such file"):
        roots({"SSL_CERT_FILE": "/none"})


def test_the_commands_say_where_it_is_and_how_to_trust_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABS_STATE", str(tmp_path))
    said = CliRunner().invoke(command, ["path"])
    certificate = tmp_path / "ca" / "ca-cert.pem"
    assert (said.output, certificate.is_file()) == (f"{certificate}\n", True)
    help_ = CliRunner().invoke(command, ["trust-help"]).output
    assert str(certificate) in help_
    assert all(word in help_ for word in ("keytool", "update-ca-certificates", "security add-trusted-cert"))


def test_without_mitmproxy_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['mitmproxy'] = None; from abs_replay.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "ca", "path"], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (
        2,
        "abs: recording needs mitmproxy: pip install 'abs-replay[record]'\n",
    )


def test_it_is_a_command_of_abs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from abs_replay.cli import cli

    monkeypatch.setenv("ABS_STATE", str(tmp_path))
    assert run(cli, ["ca", "path"]) == 0
