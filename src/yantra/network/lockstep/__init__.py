"""Networks that are programs of their own."""
