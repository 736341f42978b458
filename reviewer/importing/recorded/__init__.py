"""Episodes made of recorded attempts: a world out of what tools answered, a contract out of what a
person marked.

`story` is one attempt as calls and messages; `attempts` finds them in files of any format and
`offered` the tools that were offered. `masks` is the one table by which identifiers are replaced,
`masked` what it is used on. `marks` is what a person says of the attempt, `keys` says which
arguments distinguish calls, `effects` what calls changed; `world` makes the simulator of it, and
`asked` calls it and reads its answers and state. `turns` has the user and the scripts, `episode`
makes the whole.
"""


class NotUsable(Exception):
    """No episode can be made of this trace. `ways` are the ways out."""

    def __init__(self, text: str, *ways: str) -> None:
        super().__init__(text)
        self.ways = ways
