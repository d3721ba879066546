"""Forms in which results leave Yantra, one file each; those with a PLUGIN have a name."""
