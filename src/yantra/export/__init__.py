"""Results in the forms of other programs, one file each."""
