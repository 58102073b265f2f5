"""``python -m astropy_tilecomp`` is the command ``tilecomp``."""

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from .cli.group import main as command

    command()


if __name__ == "__main__":
    main()
