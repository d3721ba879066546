// Link load: what crossed each link of a recorded run, and its rates over time. A folded run has
// only the hops of one link and rank of each class.
#pragma once

#include <algorithm>
#include <vector>

#include "accounting/delays.hpp"
#include "record/link_series.hpp"
#include "record/recording.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Calls visit(link, message, start, end, bytes), in ticks, by end for each link.
template <class Visit>
void for_each_crossing(const Model& model, const Recording& recording, Visit&& visit) {
    for (std::size_t at = 0; at < recording.spans.size(); ++at) {
        const LinkSpan& span = recording.spans[at];
        visit(span.link, span.message, span.start, span.end, span.bytes);
    }
    if (!recording.by_hop) {
        return;
    }
    const Delays delays(model, recording);
    for (std::size_t at = 0; at < recording.hops.size(); ++at) {
        const HopLog& hop = recording.hops[at];
        const Dimension& of = delays.grid().dimension(delays.dimension_of_link(hop.link));
        const u64 start = recording.moments[hop.begun].time;
        const u64 bytes = recording.messages[hop.message].bytes;
        const u64 took = model.semantics.scale.ticks(static_cast<double>(bytes) / of.bytes_per_ns);
        visit(hop.link, hop.message, start, start + took, bytes);
    }
}

std::vector<u32> numbers_in_use(const Model& model, const Recording& recording);

// By link; none for a link that carried nothing.
std::vector<u32> rows_of_links(const Model& model, const Recording& recording);

// Crossings without a tick are left out.
struct LinkRates {
    std::vector<u32> row;
    std::vector<double> from_ns;
    std::vector<double> to_ns;
    std::vector<double> bytes_per_ns;
};

LinkRates link_rates(const Model& model, const Outcome& outcome, const Recording& recording);

// By row, then start, with the sending node; of a folded run, one row of each class.
struct LinkCrossings {
    std::vector<u32> row;
    std::vector<u32> sender;
    std::vector<u32> receiver;
    std::vector<u64> node;   // its id
    std::vector<u64> start;
    std::vector<u64> end;
    std::vector<u64> bytes;
};

LinkCrossings link_crossings(const Model& model, const Outcome& outcome, const Recording& recording,
                             const std::vector<u32>& rows);

}  // namespace yantra
