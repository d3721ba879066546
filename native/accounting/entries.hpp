// Entries: when a collective's last member entered it. A communicator's k-th collective on one
// member is the k-th on all, as upstream; waiting is defined as in Holistic Trace Analysis.
#pragma once

#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Fills `outcome.begun`; jobs that arrived during the run are ignored.
void note_entries(const Model& model, Outcome& outcome);

}  // namespace yantra
