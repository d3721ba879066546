#include "accounting/utilisation.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

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

// Gives the rows of links of a folded run, one of each class, to all links of their classes.
Utilisation for_links_alike(Utilisation of_some, const std::vector<u32>& some,
                            const std::vector<u32>& class_of_link) {
    if (class_of_link.empty()) {
        return of_some;
    }
    std::unordered_map<u32, std::size_t> row_of_class;
    for (std::size_t row = 0; row < some.size(); ++row) {
        row_of_class.emplace(class_of_link[some[row]], row);
    }
    const auto bins = static_cast<std::ptrdiff_t>(of_some.edges.size()) - 1;
    Utilisation of_all{std::move(of_some.edges), {}};
    for (u32 at : class_of_link) {
        if (const auto found = row_of_class.find(at); found != row_of_class.end()) {
            const auto first = of_some.bytes.begin() + static_cast<std::ptrdiff_t>(found->second) * bins;
            of_all.bytes.insert(of_all.bytes.end(), first, first + bins);
        }
    }
    return of_all;
}

}  // namespace

Utilisation dimension_utilisation(const Model& model, const Outcome& outcome,
                                  const Recording& recording, u32 bins) {
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
    const Delays delays(model, recording);
    std::vector<u32> used;
    for (std::size_t i = 0; i < recording.hops.size(); ++i) {
        used.push_back(recording.hops[i].link);
    }
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    Bins filled(makespan(outcome), bins, used.size());
    for_each_hop(model, recording, delays, [&](const HopLog& hop, u64 start, u64 end) {
        const auto row = std::lower_bound(used.begin(), used.end(), hop.link) - used.begin();
        filled.add(static_cast<std::size_t>(row), start, end, recording.messages[hop.message].bytes, 1);
    });
    return for_links_alike(filled.take(), used, recording.class_of_link);
}

}  // namespace yantra
