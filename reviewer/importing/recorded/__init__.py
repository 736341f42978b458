"""Episodes made of recorded attempts: a world out of what tools answered, a contract out of what a
person marked.

`story` is one attempt as calls and messages; `attempts` finds them in files of any format and
`offered` the tools that were offered. `masks` is the one table by which identifiers are replaced.
`marks` is what a person says of the attempt, `keys` says which arguments distinguish calls, `world`
makes the simulator and `effects` what calls change, `turns` the scripts and the user, `episode`
puts them together.
"""


class NotUsable(Exception):
    """No episode can be made of this trace. `ways` are the ways out."""

    def __init__(self, text: str, *ways: str) -> None:
        super().__init__(text)
        self.ways = ways
