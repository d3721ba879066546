"""Forms in which results leave Yantra, one per file; those with a PLUGIN have a name."""
