"""How the keys and tokens of known vendors begin, and what follows; in the order of `docs/recording.md`.

What follows is bounded, and such that no name of a tool or hyphenated words of a text are taken for it.
"""

# Rows: what the beginnings end with (it is searched first), the beginnings, and what follows each.
VENDORS = (
    ("-", "sk-", r"[\w-]{16,1024}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
    ("-", "xai-|pplx-|csk-", r"[A-Za-z0-9]{20,255}"),  # xAI, Perplexity, Cerebras
    ("-", "nvapi-", r"[\w-]{20,255}"),  # NVIDIA
    ("-", "pa-", r"[A-Za-z0-9][\w-]{42}(?![\w-])"),  # Voyage
    ("-", "tvly-|tvly-dev-|tvly-prod-", r"[A-Za-z0-9]{16,255}"),  # Tavily
    ("-", "fc-|key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),  # Firecrawl, Mailgun
    ("_", "gsk_|tgp_v1_|fw_|hf_|r8_|jina_|pcsk_", r"[\w-]{20,255}"),
    ("_", "lsv2_pt_|lsv2_sk_", r"\w{20,255}"),  # LangSmith
    ("_", "e2b_|bb_live_|phx_|napi_|rnd_|sgp_", r"[A-Za-z0-9]{24,255}"),
    ("-", "xoxa-|xoxb-|xoxe-|xoxp-|xoxr-|xoxs-|xapp-", r"[A-Za-z0-9-]{10,512}"),  # Slack
    ("-", "glpat-|gldt-|glrt-|glptt-|glcbt-|glsoat-|glagent-|glft-|glimt-", r"[\w-]{20,255}"),  # GitLab
    ("_", "ghp_|gho_|ghu_|ghs_|ghr_", r"[A-Za-z0-9]{20,255}"),  # GitHub
    ("_", "github_pat_", r"\w{20,255}"),
    ("_", "sk_live_|sk_test_|rk_live_|rk_test_", r"[A-Za-z0-9]{16,255}"),  # Stripe
    ("_", "whsec_", r"[A-Za-z0-9+/]{20,255}={0,2}"),
    ("-", "pypi-", r"[A-Za-z0-9_]{16}[\w-]{0,512}"),
    ("_", "npm_|rubygems_", r"[A-Za-z0-9]{20,255}"),
    ("_", "dckr_pat_|dckr_oat_", r"[\w-]{20,255}"),  # Docker
    ("_", "dop_v1_|doo_v1_|dor_v1_", r"[A-Za-z0-9]{20,255}"),  # DigitalOcean
    ("_", "lin_api_|lin_oauth_", r"[A-Za-z0-9]{20,255}"),  # Linear
    ("_", "ntn_|secret_", r"[A-Za-z0-9]{32,255}"),  # Notion
    ("_", "sbp_|vercel_|vercel_blob_rw_|vcp_", r"[A-Za-z0-9]{20,255}"),  # Supabase, Vercel
    ("_", "shpat_|shpca_|shppa_|shpss_", r"[A-Za-z0-9]{32,64}"),  # Shopify
    ("_", "glsa_|figd_|sntrys_|sntryu_|pscale_tkn_|pscale_pw_", r"[\w=+/-]{32,512}"),
    ("-", "tskey-auth-|tskey-api-|tskey-client-", r"[\w-]{20,255}"),  # Tailscale
    ("-", "NRAK-|PMAK-", r"[A-Za-z0-9-]{24,128}"),  # New Relic, Postman
    ("-", "pul-", r"[0-9a-f]{40}(?![A-Za-z0-9])"),  # Pulumi
    ("G", "SG", r"\.[\w-]{16,64}\.[\w-]{16,128}"),  # SendGrid
    ("I", "AKI|ASI", r"A[A-Z0-9]{16}"),  # AWS
    ("I", "AI", r"za[\w-]{30,64}"),  # Google
    ("ya29", "ya29", r"\.[\w-]{20,2048}"),  # Google OAuth
    ("K", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),  # Twilio
    ("dapi", "dapi", r"(?=[a-z0-9]{0,31}\d)[a-z0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),  # Databricks
    ("pat", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}(?![A-Za-z0-9])"),  # Airtable
)
