"""Commands with the names and flags of upstream Chakra, so that existing scripts run."""
