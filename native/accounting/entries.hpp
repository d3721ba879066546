// Entries: when the last member of a collective entered it, for the members that were there before.
//
// The k-th collective of a communicator on one member is the k-th on every other, as upstream pairs them.
// Trade-off: an early member may send before the last one comes. Nothing of all members' data can be
// complete before, so the time until then is that of the late member, and counts as waiting. (Traces
// are read alike by Holistic Trace Analysis.) A collective that ended on some rank before all members
// came waited for none, and neither does one over some of its communicator's dimensions.
#pragma once

#include "model/model.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Notes these ticks in `outcome.begun`. Jobs that arrived during the run are not looked at.
void note_entries(const Model& model, Outcome& outcome);

}  // namespace yantra
