// Link load: what crossed each link of a recorded run, and at which rate it carried bytes when.
//
// Exact, from change to change; accounting/utilisation.hpp has equal stretches. Links are counted by their row in
// Outcome::links, which has those that carried something. The hops of a folded run are those of one link of each
// class, and of one rank of each: who sent what over any given link is known of a run of all ranks only.
#pragma once

#include <algorithm>

#include "accounting/delays.hpp"
#include "base/vector.hpp"
#include "record/link_series.hpp"
#include "record/recording.hpp"
#include "run/outcome.hpp"

namespace yantra {

// Calls visit(link, message, start, end, bytes) for each time that bytes of a message held a link, in ticks; none
// on a network without links. Those of a link come in the order of their ends.
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

// By what spans or hops name, a link or its class in a folded run: its place among those that carried something.
Vector<u32> numbers_in_use(const Model& model, const Recording& recording);

// By link: its row, none where it carried nothing.
Vector<u32> rows_of_links(const Model& model, const Recording& recording);

// The stretches of a row follow each other in time, and rows each other. A crossing that takes no tick is in none.
struct LinkRates {
    Vector<u32> row;
    Vector<double> from_ns;
    Vector<double> to_ns;
    Vector<double> bytes_per_ns;
};

LinkRates link_rates(const Model& model, const Outcome& outcome, const Recording& recording);

// What crossed some rows, of a folded run the messages of one of each class: ranks that sent and received, the node
// that sent, ticks and bytes; by row, then by start. What collectives of known time put there is among it.
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
