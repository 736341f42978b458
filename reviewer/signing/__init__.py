"""Signed release decisions: an in-toto Statement in a DSSE envelope, and its offline verifier.

Modules, lowest first: `errors` (with strict JSON and RFC 8785), `ssh` (keys and signatures as
OpenSSH writes them), `predicate` and `facts` (what a decision says), `statement` (facts to payload
bytes and back), `signers` (who may sign), `agent`, `key_files` and `keys` (how they sign), `dsse`
(the envelope, and signing it).

Checking: `trusted` (signatures before all else, and approvals), `verify` (one decision), `journal`
(history, and the witness of the journal's heads), `folder` (the newest of many decisions). Beside
decisions: `records` (break-glass, journal losses, test results), `exports` (for other programs).
"""
