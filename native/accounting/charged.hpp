// Charged: link load of collectives of known time (run/charges.hpp), spread evenly over their time.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "base/never.hpp"
#include "model/model.hpp"
#include "run/charges.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Calls visit(collective, place of the first member's node, start, end).
template <class Visit>
void for_each_known(const Model& model, const Outcome& outcome, Visit&& visit) {
    for (const JobOfRank& of : jobs_of(model)) {
        for (u32 node = 0; node < of.job->ops.size(); ++node) {
            const KnownCollective known = known_collective(model, of, of.job->ops[node]);
            const u64 place = outcome.first_node[of.rank] + node;
            if (known.program == no_program || outcome.end[place] == never) {
                continue;
            }
            const u64 end = outcome.end[place];
            const Program& program = model.collectives.programs[known.program];
            const u64 ticks = std::get<TimedProgram>(program.machine).ticks(known.bytes);
            visit(known, static_cast<u32>(place), end - std::min(end, ticks), end);
        }
    }
}

std::vector<u32> rows_of_charged(const Outcome& outcome, const Charges& charges);

}  // namespace yantra
