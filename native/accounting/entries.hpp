// Entries: when a collective's last member entered it, for members that came earlier.
//
// A communicator's k-th collective on one member is the k-th on all, as upstream. Trade-off: an
// early member may send before the last comes; but nothing of all members' data can complete
// before, so that time counts as waiting (as in Holistic Trace Analysis). Not for a collective that
// ended on some rank before all came, nor one over some dimensions only.
#pragma once

#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// In `outcome.begun`. Jobs that arrived during the run are ignored.
void note_entries(const Model& model, Outcome& outcome);

}  // namespace yantra
