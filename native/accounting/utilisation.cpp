#include "accounting/utilisation.hpp"

#include <algorithm>

#include "accounting/delays.hpp"
#include "accounting/steps.hpp"

namespace yantra {

namespace {

__extension__ using u128 = unsigned __int128;

class Bins {
public:
    Bins(u64 end, u32 count, std::size_t rows) : count_(count) {
        for (u64 bin = 0; bin <= count; ++bin) {
            result_.edges.push_back(static_cast<u64>(u128{end} * bin / count));
        }
        result_.bytes.resize(rows * count);
    }

    // Adds `bytes`, `times` over, to a row, spread over [start, end).
    void add(std::size_t row, u64 start, u64 end, u64 bytes, u64 times) {
        const std::vector<u64>& edges = result_.edges;
        const auto found = std::upper_bound(edges.begin(), edges.end() - 1, start) - edges.begin();
        u64 given = 0;
        for (auto bin = static_cast<std::size_t>(found) - 1; given < bytes; ++bin) {
            const bool last = bin + 1 >= count_ || edges[bin + 1] >= end;
            const u64 up_to = last ? bytes
                                   : static_cast<u64>(u128{bytes} * (edges[bin + 1] - start) /
                                                      (end - start));
            result_.bytes[row * count_ + bin] += (up_to - given) * times;
            given = up_to;
        }
    }

    Utilisation take() { return std::move(result_); }

private:
    u32 count_;
    Utilisation result_;
};

u64 makespan(const Outcome& outcome) {
    return *std::max_element(outcome.finish.begin(), outcome.finish.end());
}

u64 alike(const Recording& recording, const MessageLog& message) {
    return recording.alike[recording.actor_of(message.node)];
}

// Calls visit(hop, start, end) with the time that the bytes of each hop take on the link.
template <class Visit>
void for_each_hop(const Model& model, const Recording& recording, const Delays& delays,
                  Visit&& visit) {
    for (std::size_t i = 0; i < recording.hops.size(); ++i) {
        const HopLog& hop = recording.hops[i];
        const Dimension& d = delays.grid().dimension(delays.dimension_of_link(hop.link));
        const u64 start = recording.moments[hop.begun].time;
        const u64 bytes = recording.messages[hop.message].bytes;
        visit(hop, start, start + model.scale.ticks(static_cast<double>(bytes) / d.bytes_per_ns));
    }
}

// How many links each one stands for.
std::vector<u64> links_alike(const Recording& recording) {
    std::vector<u64> alike(recording.span_links, recording.link_class.empty() ? 1 : 0);
    for (u32 of_class : recording.link_class) {
        if (of_class != none) {
            ++alike[of_class];
        }
    }
    return alike;
}

Utilisation group_spans(const Outcome& outcome, const Recording& recording, u32 bins) {
    const std::vector<u64> alike = links_alike(recording);
    Bins filled(makespan(outcome), bins, recording.span_groups);
    for (std::size_t at = 0; at < recording.spans.size(); ++at) {
        const LinkSpan& span = recording.spans[at];
        filled.add(span.group, span.start, span.end, span.bytes, alike[span.link]);
    }
    return filled.take();
}

// The row of its class for every link that has one.
Utilisation by_every_link(const Utilisation& by_class, const std::vector<u32>& class_of,
                          const std::vector<u32>& row_of, u32 bins) {
    Utilisation by_link{by_class.edges, {}};
    for (u32 of_class : class_of) {
        if (of_class != none && row_of[of_class] != none) {
            const auto row = by_class.bytes.begin() + static_cast<std::ptrdiff_t>(u64{row_of[of_class]} * bins);
            by_link.bytes.insert(by_link.bytes.end(), row, row + bins);
        }
    }
    return by_link;
}

Utilisation link_spans(const Outcome& outcome, const Recording& recording, u32 bins) {
    std::vector<u32> row(recording.span_links, none);
    for (std::size_t at = 0; at < recording.spans.size(); ++at) {
        row[recording.spans[at].link] = 0;
    }
    u32 rows = 0;
    for (u32& of_link : row) {
        of_link = of_link == none ? none : rows++;
    }
    Bins filled(makespan(outcome), bins, rows);
    for (std::size_t at = 0; at < recording.spans.size(); ++at) {
        const LinkSpan& span = recording.spans[at];
        filled.add(row[span.link], span.start, span.end, span.bytes, 1);
    }
    return recording.link_class.empty() ? filled.take()
                                        : by_every_link(filled.take(), recording.link_class, row, bins);
}

}  // namespace

Utilisation dimension_utilisation(const Model& model, const Outcome& outcome,
                                  const Recording& recording, u32 bins) {
    if (recording.by_span) {
        return group_spans(outcome, recording, bins);
    }
    const Delays delays(model, recording);
    const Grid& grid = delays.grid();
    Bins filled(makespan(outcome), bins, grid.dimensions());
    if (recording.by_hop) {
        for_each_hop(model, recording, delays, [&](const HopLog& hop, u64 start, u64 end) {
            const MessageLog& message = recording.messages[hop.message];
            filled.add(delays.dimension_of_link(hop.link), start, end, message.bytes,
                       alike(recording, message));
        });
        return filled.take();
    }
    for (std::size_t i = 0; i < recording.messages.size(); ++i) {
        const MessageLog& message = recording.messages[i];
        const u64 sent = recording.moments[message.sent].time;
        const u64 end = recording.moments[message.arrived].time;
        const u64 start = std::min(end, sent + delays.latency_of(message));
        for (u32 d = delays.lowest_dimension(message); d < grid.dimensions(); ++d) {
            if (grid.coordinate(recording.source_of(message), d) != grid.coordinate(message.destination, d)) {
                filled.add(d, start, end, message.bytes, alike(recording, message));
            }
            if (model.quirks.lowest_dimension_only) {
                break;
            }
        }
    }
    return filled.take();
}

Utilisation link_utilisation(const Model& model, const Outcome& outcome, const Recording& recording,
                             u32 bins) {
    if (recording.by_span) {
        return link_spans(outcome, recording, bins);
    }
    const Delays delays(model, recording);
    const std::vector<u32>& classes = recording.link_class;
    auto class_of = [&](u32 link) { return classes.empty() ? link : classes[link]; };
    std::vector<u32> used;
    for (std::size_t i = 0; i < recording.hops.size(); ++i) {
        used.push_back(class_of(recording.hops[i].link));
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    auto row_of = [&](u32 link_class) {
        return static_cast<std::size_t>(std::lower_bound(used.begin(), used.end(), link_class) -
                                        used.begin());
    };
    Bins filled(makespan(outcome), bins, used.size());
    for_each_hop(model, recording, delays, [&](const HopLog& hop, u64 start, u64 end) {
        filled.add(row_of(class_of(hop.link)), start, end, recording.messages[hop.message].bytes, 1);
    });
    Utilisation by_class = filled.take();
    if (classes.empty()) {
        return by_class;
    }
    Utilisation by_link{by_class.edges, {}};
    for (u32 link_class : classes) {
        if (std::binary_search(used.begin(), used.end(), link_class)) {
            const auto row = by_class.bytes.begin() + static_cast<std::ptrdiff_t>(row_of(link_class) * bins);
            by_link.bytes.insert(by_link.bytes.end(), row, row + bins);
        }
    }
    return by_link;
}

}  // namespace yantra
