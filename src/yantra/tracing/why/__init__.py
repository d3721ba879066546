"""Where a recorded job's time went: accounts, clocks, late ranks, slow transfers."""
