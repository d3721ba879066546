"""How a job is split over ranks: the plan, what is impossible, the nearest that is not."""
