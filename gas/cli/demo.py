"""``gas demo``."""


def demo_command() -> None:
    """Show."""
