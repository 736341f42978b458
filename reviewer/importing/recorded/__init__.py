"""Episodes made from recorded attempts: a world from the answers of tools, a contract from a
person's marks.

`story` is one attempt as calls and messages; `attempts` finds them in files of any format and
`offered` the tools that were offered. `masks` is the table by which identifiers are replaced,
`masked` applies it. `marks` is what a person says about the attempt, `keys` decides which arguments
distinguish calls, `effects` what calls changed; `world` makes the simulator from it, and `asked`
calls it and reads its answers and state. `turns` has the user and the scripts, `episode` makes the
whole.
"""


class NotUsable(Exception):
    """No episode can be made from this trace. `ways` are the ways out."""

    def __init__(self, text: str, *ways: str) -> None:
        super().__init__(text)
        self.ways = ways
