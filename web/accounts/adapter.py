"""What allauth asks the site about."""

from __future__ import annotations

from typing import ClassVar

from allauth.account.adapter import DefaultAccountAdapter


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """allauth's own, with words that say what to do."""

    error_messages: ClassVar = {
        **DefaultAccountAdapter.error_messages,
        "too_many_login_attempts": "Too many attempts failed. Wait five minutes, then try again.",
    }
