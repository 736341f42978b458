"""Trial agents: what a suite must let pass and what it must stop, played against its episodes.

They are candidates in this process, behind the same broker and in the same worlds as any other.
`reviewer.suite.model.TRIAL_AGENTS` lists them.
"""
