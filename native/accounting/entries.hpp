// Entries: when a collective's last member entered it, for members that came earlier.
//
// A communicator's k-th collective on one member is the k-th on all, as upstream. An early member
// may send before the last enters, but nothing that needs all members' data can complete, so this
// time counts as waiting (as in Holistic Trace Analysis), unless the collective ended on some rank
// before all came, or covers only some dimensions.
#pragma once

#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Fills `outcome.begun`; jobs that arrived during the run are ignored.
void note_entries(const Model& model, Outcome& outcome);

}  // namespace yantra
