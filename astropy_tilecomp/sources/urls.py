"""URLs without credentials."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit, urlunsplit

__all__ = ["has_secret", "public_url"]

_SECRET_WORDS = ("auth", "credential", "key", "pass", "policy", "secret", "sig", "token")


def public_url(url: str) -> str:
    """A URL as it may be shown."""
    parts = urlsplit(url)
    if "@" not in parts.netloc and not parts.query:
        return url
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="..." if parts.query else "", fragment="")
    return urlunsplit(shown)


def has_secret(url: str) -> bool:
    """Whether a URL may hold a credential."""
    parts = urlsplit(url)
    names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    return "@" in parts.netloc or any(word in name for name in names for word in _SECRET_WORDS)
