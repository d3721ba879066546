"""Why a recorded job takes as long as it does: who is late, which transfers are slow."""
