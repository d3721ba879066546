"""Serving: requests that arrive, engines that batch them, and what their users wait for."""
