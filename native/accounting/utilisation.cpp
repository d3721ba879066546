#include "accounting/utilisation.hpp"

#include <algorithm>
#include <vector>

#include "accounting/charged.hpp"
#include "accounting/delays.hpp"
#include "accounting/link_load.hpp"
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

    // Spreads them over [start, end).
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

// Calls visit(hop, start, end) with the time of a hop's bytes on the link.
template <class Visit>
void for_each_hop(const Model& model, const Recording& recording, const Delays& delays,
                  Visit&& visit) {
    for (std::size_t i = 0; i < recording.hops.size(); ++i) {
        const HopLog& hop = recording.hops[i];
        const Dimension& d = delays.grid().dimension(delays.dimension_of_link(hop.link));
        const u64 start = recording.moments[hop.begun].time;
        const u64 bytes = recording.messages[hop.message].bytes;
        visit(hop, start, start + model.semantics.scale.ticks(static_cast<double>(bytes) / d.bytes_per_ns));
    }
}

class RealBins {
public:
    RealBins(const Model& model, Bins&& edges, std::size_t rows)
        : result_(edges.take()), sums_(result_.bytes.size()), whole_(rows) {
        for (u64 edge : result_.edges) {
            edges_ns_.push_back(static_cast<double>(edge) / static_cast<double>(model.semantics.scale.ticks_per_ns()));
        }
        bins_ = result_.edges.size() - 1;
    }

    void add(std::size_t row, const LinkStretch& of) {
        const auto found = std::upper_bound(edges_ns_.begin(), edges_ns_.end() - 1, of.from_ns) - edges_ns_.begin();
        double from_ns = of.from_ns;
        for (auto bin = static_cast<std::size_t>(found) - 1; from_ns < of.to_ns; ++bin) {
            const double to_ns = bin + 1 >= bins_ ? of.to_ns : std::min(of.to_ns, edges_ns_[bin + 1]);
            sums_[row * bins_ + bin] += of.bytes_per_ns * (to_ns - from_ns);
            from_ns = to_ns;
        }
    }
    void carries(std::size_t row, u64 bytes) { whole_[row] += bytes; }

    Utilisation take() {
        for (std::size_t row = 0; row < whole_.size(); ++row) {
            share_out(row);
        }
        return std::move(result_);
    }

private:
    void share_out(std::size_t row) {
        double all = 0.0;
        for (std::size_t bin = 0; bin < bins_; ++bin) {
            all += sums_[row * bins_ + bin];
        }
        const auto whole = static_cast<double>(whole_[row]);
        double so_far = 0.0;
        u64 given = 0;
        for (std::size_t bin = 0; bin < bins_; ++bin) {
            so_far += sums_[row * bins_ + bin];
            const bool is_all = so_far == all;
            const auto part = all > 0.0 ? static_cast<u64>(whole * (so_far / all)) : 0;
            const u64 up_to = is_all ? whole_[row] : std::clamp(part, given, whole_[row]);
            result_.bytes[row * bins_ + bin] = up_to - given;
            given = up_to;
        }
    }

    Utilisation result_;
    std::vector<double> sums_;
    std::vector<u64> whole_;
    std::vector<double> edges_ns_;
    std::size_t bins_ = 0;
};

std::vector<u64> links_alike(const Recording& recording) {
    std::vector<u64> alike(recording.span_group.size(), recording.link_class.empty() ? 1 : 0);
    for (u32 of_class : recording.link_class) {
        if (of_class != none) {
            ++alike[of_class];
        }
    }
    return alike;
}

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

// By row_of(link), weighted by times_of(link).
template <class RowOf, class TimesOf>
Utilisation of_spans(const Model& model, const Outcome& outcome, const Recording& recording, u32 bins,
                     std::size_t rows, const RowOf& row_of, const TimesOf& times_of) {
    const LinkSeries& series = recording.series;
    Bins filled(makespan(outcome), bins, rows);
    if (series.is_empty()) {
        for_each_crossing(model, recording, [&](u32 link, u32, u64 start, u64 end, u64 bytes) {
            filled.add(row_of(link), start, end, bytes, times_of(link));
        });
        return filled.take();
    }
    RealBins real(model, std::move(filled), rows);
    std::vector<bool> has_rate(series.links());
    for (std::size_t at = 0; at < series.stretches().size(); ++at) {
        LinkStretch stretch = series.stretches()[at];
        stretch.bytes_per_ns *= static_cast<double>(times_of(stretch.link));
        has_rate[stretch.link] = true;
        if (row_of(stretch.link) != none) {   // else the bytes did not arrive
            real.add(row_of(stretch.link), stretch);
        }
    }
    const auto ticks_per_ns = static_cast<double>(model.semantics.scale.ticks_per_ns());
    for_each_crossing(model, recording, [&](u32 link, u32, u64 start, u64 end, u64 bytes) {
        const u64 all = bytes * times_of(link);
        real.carries(row_of(link), all);
        if (!has_rate[link] && bytes > 0) {
            const double from_ns = static_cast<double>(start) / ticks_per_ns;
            const double to_ns = static_cast<double>(std::max(end, start + 1)) / ticks_per_ns;
            real.add(row_of(link), {link, from_ns, to_ns, static_cast<double>(all) / (to_ns - from_ns)});
        }
    });
    return real.take();
}

Utilisation dimensions_of_messages(const Model& model, const Outcome& outcome, const Recording& recording, u32 bins) {
    if (recording.by_span) {
        const std::vector<u64> alike = links_alike(recording);
        return of_spans(model, outcome, recording, bins, recording.span_groups,
                        [&](u32 link) { return recording.span_group[link]; },
                        [&](u32 link) { return alike[link]; });
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
        const u64 first = std::min(end, sent + delays.latency_of(message));
        const u64 start = recording.by_port ? std::max(first, end - std::min(end, delays.transfer_of(message))) : first;
        for (u32 d = delays.lowest_dimension(message); d < grid.dimensions(); ++d) {
            if (grid.coordinate(recording.source_of(message), d) != grid.coordinate(message.destination, d)) {
                filled.add(d, start, end, message.bytes, alike(recording, message));
            }
            if (model.semantics.quirks.lowest_dimension_only) {
                break;
            }
        }
    }
    return filled.take();
}

// By port, in the order of links.
Utilisation port_utilisation(const Outcome& outcome, const Recording& recording, u32 bins) {
    std::vector<u32> row;   // by link, or class
    for (std::size_t i = 0; i < recording.port_spans.size(); ++i) {
        const u32 link = recording.port_spans[i].link;
        row.resize(std::max<std::size_t>(row.size(), link + std::size_t{1}), none);
        row[link] = 0;
    }
    u32 rows = 0;
    for (u32& of : row) {
        of = of == none ? none : rows++;
    }
    Bins filled(makespan(outcome), bins, rows);
    for (std::size_t i = 0; i < recording.port_spans.size(); ++i) {
        const LinkSpan& span = recording.port_spans[i];
        filled.add(row[span.link], span.start, span.end, span.bytes, 1);
    }
    Utilisation found = filled.take();
    if (recording.link_class.empty()) {
        return found;
    }
    row.resize(1 + *std::max_element(recording.link_class.begin(), recording.link_class.end(), [](u32 a, u32 b) {
        return a + 1 < b + 1;   // none is the least
    }), none);
    return by_every_link(found, recording.link_class, row, bins);
}

Utilisation links_of_messages(const Model& model, const Outcome& outcome, const Recording& recording, u32 bins) {
    if (recording.by_port) {
        return port_utilisation(outcome, recording, bins);
    }
    if (recording.by_span) {
        std::vector<u32> row = numbers_in_use(model, recording);
        row.resize(std::max<std::size_t>(row.size(), recording.series.links()), none);
        const auto rows = std::count_if(row.begin(), row.end(), [](u32 of) { return of != none; });
        Utilisation found = of_spans(model, outcome, recording, bins, static_cast<std::size_t>(rows),
                                     [&](u32 link) { return row[link]; }, [](u32) { return 1; });
        return recording.link_class.empty() ? found : by_every_link(found, recording.link_class, row, bins);
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

void join(Utilisation& found, const Utilisation& charged) {
    found.bytes.resize(std::max(found.bytes.size(), charged.bytes.size()));
    for (std::size_t at = 0; at < charged.bytes.size(); ++at) {
        found.bytes[at] += charged.bytes[at];
    }
}

}  // namespace

Utilisation dimension_utilisation(const Model& model, const Outcome& outcome,
                                  const Recording& recording, u32 bins) {
    Utilisation found = dimensions_of_messages(model, outcome, recording, bins);
    if (!Charges::are_in(model)) {
        return found;
    }
    const Grid grid(model.network.dimensions, model.network.tables);
    Charges charges(model, grid);
    Bins filled(makespan(outcome), bins, charges.groups().size());
    for_each_known(model, outcome, [&](const KnownCollective& known, u32, u64 start, u64 end) {
        charges.add(known, 1);
        for (u32 group = 0; group < charges.groups().size(); ++group) {
            filled.add(group, start, end, charges.groups()[group].bytes, 1);
        }
        charges.clear(charges.take_touched());
    });
    if (found.bytes.size() == charges.groups().size() * bins) {
        join(found, filled.take());
    }
    return found;
}

Utilisation link_utilisation(const Model& model, const Outcome& outcome, const Recording& recording, u32 bins) {
    Utilisation found = links_of_messages(model, outcome, recording, bins);
    if (!Charges::are_in(model)) {
        return found;
    }
    const Grid grid(model.network.dimensions, model.network.tables);
    Charges charges(model, grid);
    const std::vector<u32> row_of = rows_of_charged(outcome, charges);
    const std::size_t rows = outcome.links_on_demand ? outcome.links_on_demand().size() : outcome.links.size();
    Bins filled(makespan(outcome), bins, rows);
    for_each_known(model, outcome, [&](const KnownCollective& known, u32, u64 start, u64 end) {
        charges.add(known, 1);
        const std::vector<u32> touched = charges.take_touched();
        for (const u32 link : touched) {
            filled.add(row_of[link], start, end, charges.links()[link].bytes, 1);
        }
        charges.clear(touched);
    });
    join(found, filled.take());
    return found;
}

}  // namespace yantra
