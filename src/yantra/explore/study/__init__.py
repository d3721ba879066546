"""A study: its file, its trials and what they are judged by, the journal that keeps them."""
