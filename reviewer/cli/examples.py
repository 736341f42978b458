"""Examples of commands, by their words, for `--help`: each is read by the parser in a test."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "reviewer demo                                        # the built-in example",
        "reviewer init desk --example                         # your own workspace",
        "reviewer import traces.jsonl                         # traces from elsewhere",
        "reviewer --export-report out --suite S --candidate C # the report, for CI",
    ),
    "demo": ("reviewer demo", "reviewer demo --headless"),
    "init": ("reviewer init desk", "reviewer init desk --example --reviewer dana"),
    "serve": ("reviewer serve --port 8765",),
    "mcp": ("reviewer mcp --workspace desk",),
    "settings": ("reviewer settings",),
    "doctor": ("reviewer doctor", "reviewer doctor --json"),
    "vacuum": ("reviewer vacuum", "reviewer vacuum --seconds 600"),
    "archive": (
        "reviewer archive --older-than 90d",
        "reviewer archive --before 2026-10-01 --suite refund-eval-v5 /mnt/archive/payloads",
        "reviewer archive --restore",
    ),
    "backup": ("reviewer backup monday.db",),
    "restore": ("reviewer restore monday.db",),
    "query": (
        'reviewer query "select candidate_id, k, value from pass_k" november',
        'reviewer query "from gates_per_day where failed > 0" november --json',
        'reviewer query "show tables"',
    ),
    "export": (
        "reviewer export --parquet november",
        "reviewer export --parquet november --suite refund-eval-v5 --payloads",
    ),
    "schema": ("reviewer schema episode",),
    "glossary": ("reviewer glossary",),
    "completion": (
        'eval "$(reviewer completion bash)"                  # in ~/.bashrc; same for zsh',
        "reviewer completion fish > ~/.config/fish/completions/reviewer.fish",
    ),
    "suite": ("reviewer suite list", "reviewer suite check refund-eval-v5"),
    "suite new": ("reviewer suite new refunds --tools tools.json",),
    "suite check": ("reviewer suite check refunds", "reviewer suite check refunds --watch"),
    "suite freeze": (
        "reviewer suite freeze refunds",
        "reviewer suite freeze refunds --as refunds-v2",
    ),
    "suite trial": ("reviewer suite trial refund-eval-v5",),
    "suite power": ("reviewer suite power refund-eval-v5",),
    "suite from-tau2": ("reviewer suite from-tau2 tasks.json --domain airline --as airline",),
    "episode from-trace": (
        "reviewer episode from-trace refund-eval-v5/refund-agent-v7/attack-014/1 --into refunds",
    ),
    "candidate new": ("reviewer candidate new refunds agent-v1 --entry agent:answer",),
    "candidate pin": ("reviewer candidate pin refunds agent-v1",),
    "run": (
        "reviewer run refund-eval-v5 refund-agent-v8",
        "reviewer run refund-eval-v5 refund-agent-v8 --episode attack-014 --attempts 1",
        "reviewer run refund-eval-v5 refund-agent-v8 --shard 2/8 --resume",
    ),
    "import": (
        "reviewer import traces.jsonl",
        "reviewer import spans.json --suite production --candidate agent-v3",
        "reviewer import --from claude-code --list",
    ),
    "listen": ("reviewer listen --suite production --candidate agent-v3",),
    "quarantine": ("reviewer quarantine list",),
    "formats": ("reviewer formats", "reviewer formats check FILE"),
    "sources": ("reviewer sources",),
    "score": ("reviewer score --suite refund-eval-v5",),
    "show": (
        "reviewer show refund-eval-v5/refund-agent-v7/attack-014/1 --event 2",
        "reviewer show refund-eval-v5/refund-agent-v7/attack-014/1 --by turns",
    ),
    "search": ("reviewer search issue_refund --suite refund-eval-v5",),
    "scorecard": ("reviewer scorecard --suite refund-eval-v5 --candidate refund-agent-v7",),
    "trends": ("reviewer trends --suite refund-eval-v5",),
    "patterns": ("reviewer patterns --suite refund-eval-v5",),
    "compare": (
        "reviewer compare --suite refund-eval-v5 --candidate refund-agent-v8 "
        "--baseline refund-agent-v7",
    ),
    "labels": ("reviewer labels queue --suite refund-eval-v5",),
    "review-set": (
        "reviewer review-set production --sample 5% --seed 7",
        "reviewer review-set support-v3 --about user --sample 20%",
    ),
    "judge": ("reviewer judge refund-eval-v5 --dry-run",),
    "merge": ("reviewer merge ../other/store/review.db",),
    "sign": (
        "reviewer sign --suite refund-eval-v5 --candidate refund-agent-v8 --decision PROMOTE "
        "--key ~/.ssh/id_ed25519",
    ),
    "verify": (
        "reviewer verify decision.json --candidate-manifest candidate.json --signers "
        "allowed_signers",
    ),
    "decisions": ("reviewer decisions list",),
    "keys": ("reviewer keys list", "reviewer keys trust dana id_ed25519.pub"),
}
