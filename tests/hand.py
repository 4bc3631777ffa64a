"""A time source for the clock that stands still until a test moves it."""


class Hand:
    def __init__(self, time: float = 1_000_000.0) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time
