"""`abs ca`: the certificate authority with which `--forward` speaks for other hosts, in record and replay."""

import os
from typing import TYPE_CHECKING

import click

from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.proxy.authority import Authority

HELP = """\
The COMMAND of `abs record --forward -- COMMAND`, and a shell with the exports that it prints, trust already
{certificate}
Python, Node, curl, git, Deno, pip, gRPC, the SDKs of AWS and Google Cloud, most Go programs. Others have to
be told, to be recorded.
Whoever holds {key}
can speak for any host to whoever trusts it: untrust it when you are done.

Java      keytool -importcert -noprompt -alias abs-replay -file {certificate} \\
              -keystore truststore.jks -storepass changeit
          java -Djavax.net.ssl.trustStore=truststore.jks \\
              -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=7070 ...
.NET      obeys SSL_CERT_FILE on Linux; elsewhere it trusts what the system does
Docker    -v {certificate}:/abs-ca.pem:ro \\
              -e NODE_EXTRA_CA_CERTS=/abs-ca.pem -e HTTPS_PROXY=http://HOST:7070
          and for others than Node a file with the image's own roots and this one, as SSL_CERT_FILE
Debian    cp {certificate} /usr/local/share/ca-certificates/abs-replay.crt && update-ca-certificates
Fedora    cp {certificate} /etc/pki/ca-trust/source/anchors/abs-replay.pem && update-ca-trust
macOS     security add-trusted-cert -r trustRoot -k ~/Library/Keychains/login.keychain-db {certificate}
Windows   certutil -user -addstore Root {certificate}
Firefox   Settings, Privacy & Security, Certificates, View Certificates, Authorities, Import

Not led by variables: Node's fetch before 22.21 and 24 (use a listener: --llm, --tool), aiohttp without
trust_env=True, Go programs on loopback, and whoever pins certificates (--ignore-host HOST)."""


@click.group()
def command() -> None:
    """Show the certificate authority that clients of `abs record` and `abs replay --forward` have to trust.

    \b
    abs ca path              where its certificate is; it is made if there is none yet
    abs ca trust-help        how programs are told to trust it
    """


@command.command("path")
def path() -> None:
    """Print where the certificate is; it is made if there is none yet.

    \b
    curl --cacert "$(abs ca path)" --proxy http://127.0.0.1:7070 https://api.openai.com/v1/models
    """
    click.echo(str(_authority().certificate))


@command.command("trust-help")
def trust_help() -> None:
    """Say how programs, systems and browsers are told to trust the certificate."""
    found = _authority()
    click.echo(HELP.format(certificate=found.certificate, key=found.key))


def _authority() -> "Authority":
    try:
        from abs_replay.proxy.authority import authority
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mitmproxy", "cryptography", "certifi"):
            raise
        raise UsageError("recording needs mitmproxy: pip install 'abs-replay[record]'") from error
    return authority(os.environ)
