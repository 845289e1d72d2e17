"""A secret that does not print itself."""


class Secret:
    """Holds a key or token; `reveal()` is the only way to the value."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value, for the one call that needs it."""
        return self._value

    def __bool__(self) -> bool:
        """White space alone is no secret: anybody could guess it."""
        return bool(self._value.strip())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)" if self else "Secret()"
