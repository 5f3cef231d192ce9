"""Keys and tokens of known vendors are found in any text; what reads like their beginnings is not."""

import pytest

from abs_replay.exchange import Body, Channel, Exchange, Request, Role
from abs_replay.redact import redact

X = "q7Rb2mXk9LwZt4Vy8NcPd3Hs6GfJa1Ue"
HEX = "0123456789abcdef" * 2
KEYS = [
    *(f"{start}{X}" for start in ("pypi-", "ya29.", "nvapi-", "tgp_v1_", "lsv2_pt_", "lsv2_sk_", "tvly-")),
    *(f"{start}{X}" for start in ("lin_api_", "dop_v1_", "whsec_", "dckr_pat_", "ntn_", "secret_", "r8_")),
    *(
        f"{start}{X}"
        for start in ("fw_", "pcsk_", "sbp_", "vercel_", "xapp-1-A0-", "glrt-", "npm_", "shpat_")
    ),
    *(f"{start}{X}" for start in ("tvly-dev-", "csk-", "jina_", "e2b_", "bb_live_", "glsa_", "tskey-auth-")),
    *(f"{start}{HEX}" for start in ("SK", "dapi", "key-", "fc-")),
    f"patAbCdEfGh123456.{HEX}{HEX}",
    f"pa-{X}{X[:11]}",
    "AKIAIOSFODNN7EXAMPLE",
]


def kept(body: str) -> str:
    request = Request("POST", "/", (), Body(body.encode()))
    return redact(Exchange("1", Channel(Role.LLM, "llm"), 0.0, request)).request.body.data.decode()


@pytest.mark.parametrize("key", KEYS)
def test_a_vendors_key_is_found_in_prose(key: str) -> None:
    assert kept(f"it is {key}, ok") == "it is <key:1>, ok"
    assert kept(f'{{"say":"it is\\n{key}\\n"}}') == '{"say":"it is\\n<key:1>\\n"}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"https://hooks.slack.com/services/T0001/B0001/{X}", "https://hooks.slack.com/services/<key:1>"),
        (
            f"https://discord.com/api/webhooks/123456789012345678/{X}{X}",
            "/webhooks/123456789012345678/<key:1>",
        ),
    ],
)
def test_the_secret_part_of_a_webhooks_address_is_found(text: str, left: str) -> None:
    assert kept(f"post to {text} now").endswith(f"{left} now")


@pytest.mark.parametrize(
    "text",
    [
        "pypi-publish-to-the-index, tvly-style, key-value-store, fc-barcelona, pa-system",
        "secret_manager_list_all_secrets, vercel_list_all_deployments, npm_install_all_packages",
        "SKU0123456789, path.to.something, pattern, dapiserver, yaml29.x, hooks://x, webhooks/123",
        "fw_update, r8_check, ntn_x, lin_reg, glsa_1, sbp_low",
    ],
)
def test_words_that_begin_like_a_key_are_left_alone(text: str) -> None:
    assert kept(text) == text
