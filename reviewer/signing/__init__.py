"""Signed release decisions: an in-toto Statement in a DSSE envelope, and its offline verifier.

Modules, lowest first: `errors`, `canonical` (strict JSON, RFC 8785), `ssh` (keys and signatures as
OpenSSH writes them), `dsse` (envelope), `predicate` and `facts` (what a decision says), `statement`
(facts to payload bytes and back), `signers` (who may sign), `agent` and `keys` (how they sign),
`sign`.

Checking: `trusted` (signatures before all else, and approvals), `verify` (one decision), `folder`
(the newest of many). Beside decisions: `break_glass`, `run_result` (test results by runners),
`journal` (losses, and the witness of its heads), `exports` (for other programs).
"""
