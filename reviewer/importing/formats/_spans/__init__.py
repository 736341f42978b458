"""What every file of spans has in common, whatever its envelope.

An envelope (OTLP, Tempo, Jaeger, Phoenix, Langfuse) is turned into `value.Span`s; here they are
found again by their place in the file (`files`, `index`), grouped into episodes, read in their
dialects (`attributes`, `content`, `messages`) and told as a native record (`tree`, `episode`).
"""
