// What a folded run does not play event by event, because it knows what would come of it.
#include "sim/simulation.hpp"

namespace yantra {

// Ends a phase when its messages would, if all that take part in it do what its rank does; false if they
// do not, or only events can tell. A message of a phase reaches no rank that the program does not name,
// so whatever else the classes of the communicator do, they are not in it.
bool Simulation::closes(u32 stream, const ExchangeProgram& machine) {
    const Stream& s = streams_[stream];
    if (!counts_arrivals(s)) {
        return false;
    }
    const Phase& phase = phase_of(s);
    const bool round_up = model_.programs[phase.program].round_up;
    ClosedForms::Used& used = closed_.of(
        {phase.data, s.rank, s.plan, chunk_of(s).communicator, phase.level, phase.program,
         phase.clockwise},
        [&]() -> std::optional<ClosedForm> {
            auto alike = [&](u32 rank) { return folding_->class_of[rank] == s.rank; };
            if (!all_peers(machine, s.place, alike)) {
                return std::nullopt;
            }
            return closed_form({machine, s.place, phase.data, round_up, phase.clockwise,
                                hand_over_ticks(phase), [this](u64 b) { return reduction_ticks(b); }},
                               *network_);
        });
    if (!used.form) {
        return false;
    }
    ++used.times;
    local_.schedule(s.rank, used.form->ticks, phase_done, stream, none);
    return true;
}

// Counts the messages of the phases that were not played.
void Simulation::add_closed(Outcome& out) const {
    closed_.for_each([&](u32 rank, const ClosedForm& form, u64 times) {
        const u64 alike = folding_->count[rank] * times;
        out.messages += form.messages * alike;
        for (std::size_t d = 0; d < form.use.size(); ++d) {
            out.dimensions[d].bytes += form.use[d].bytes * alike;
            out.dimensions[d].messages += form.use[d].messages * alike;
        }
    });
}

}  // namespace yantra
