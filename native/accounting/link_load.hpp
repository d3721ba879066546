// Link load: what crossed each link of a recorded run, and its rates over time.
//
// Exact, from change to change (accounting/utilisation.hpp has equal bins), by row of
// Outcome::links. A folded run has only the hops of one link and rank of each class.
#pragma once

#include <algorithm>

#include "accounting/delays.hpp"
#include "base/vector.hpp"
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

// A link's or class's place among those used.
Vector<u32> numbers_in_use(const Model& model, const Recording& recording);

// By link; none for a link that carried nothing.
Vector<u32> rows_of_links(const Model& model, const Recording& recording);

// By row, then time. Crossings without a tick are left out.
struct LinkRates {
    Vector<u32> row;
    Vector<double> from_ns;
    Vector<double> to_ns;
    Vector<double> bytes_per_ns;
};

LinkRates link_rates(const Model& model, const Outcome& outcome, const Recording& recording);

// What crossed some rows (of a folded run, one of each class), by row, then start, with the sending
// node; includes collectives of known time.
struct LinkCrossings {
    Vector<u32> row;
    Vector<u32> sender;
    Vector<u32> receiver;
    Vector<u64> node;   // its id
    Vector<u64> start;
    Vector<u64> end;
    Vector<u64> bytes;
};

LinkCrossings link_crossings(const Model& model, const Outcome& outcome, const Recording& recording,
                             const Vector<u32>& rows);

}  // namespace yantra
