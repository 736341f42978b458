"""Signed release decisions: an in-toto Statement in a DSSE envelope, and its offline verifier.

Rooms, lowest first: `errors`, `canonical` (strict JSON, RFC 8785), `wire`, `public` and `sshsig`
(keys and signatures as OpenSSH writes them), `dsse` (envelope), `parts`, `predicate` and `facts`
(what a decision says), `candidate`, `body`, `contradictions` and `statement` (facts to payload
bytes and back), `signers` and `people` (who may sign), `agent`, `hardware` and `keys` (how they
sign), `sign`.

Who checks: `trusted` (signatures before all else), `approvals`, `pins`, `matching` (against the
report), `verify` (one decision), `folder` (the newest of many). Beside decisions: `break_glass`,
`run_result` (test results by runners), `exports` (for other programs), `merkle`.
"""
