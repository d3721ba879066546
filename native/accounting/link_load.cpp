#include "accounting/link_load.hpp"

#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "accounting/charged.hpp"
#include "accounting/messages.hpp"
#include "base/ensure.hpp"

namespace yantra {

namespace {

u32 number_of(const Recording& recording, u32 link) {
    return recording.by_span || recording.link_class.empty() ? link : recording.link_class[link];
}

LinkSeries series_of_crossings(const Model& model, const Recording& recording, u32 numbers) {
    LinkSeries series(numbers);
    const auto ticks_per_ns = static_cast<double>(model.semantics.scale.ticks_per_ns());
    for_each_crossing(model, recording, [&](u32 link, u32, u64 start, u64 end, u64 bytes) {
        if (end > start) {
            const u32 number = number_of(recording, link);
            const double from_ns = static_cast<double>(start) / ticks_per_ns;
            const double to_ns = static_cast<double>(end) / ticks_per_ns;
            series.set(number, from_ns, static_cast<double>(bytes) / (to_ns - from_ns));
            series.set(number, to_ns, 0.0);
        }
    });
    series.finish(static_cast<double>(~u64{0}));
    return series;
}

// `is_wanted` by number.
LinkSeries series_of_sums(const Model& model, const Recording& recording, const std::vector<bool>& is_wanted) {
    struct Change {
        double at_ns;
        u32 number;
        double bytes_per_ns;
    };
    std::vector<Change> changes;
    const auto ticks_per_ns = static_cast<double>(model.semantics.scale.ticks_per_ns());
    for_each_crossing(model, recording, [&](u32 link, u32, u64 start, u64 end, u64 bytes) {
        if (end > start && is_wanted[number_of(recording, link)]) {
            const double from_ns = static_cast<double>(start) / ticks_per_ns;
            const double to_ns = static_cast<double>(end) / ticks_per_ns;
            const double rate = static_cast<double>(bytes) / (to_ns - from_ns);
            changes.push_back({from_ns, number_of(recording, link), rate});
            changes.push_back({to_ns, number_of(recording, link), -rate});
        }
    });
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.at_ns < b.at_ns; });
    LinkSeries series(static_cast<u32>(is_wanted.size()));
    std::vector<double> rate(is_wanted.size());
    std::vector<u32> under_way(is_wanted.size());
    for (const Change& change : changes) {
        under_way[change.number] += change.bytes_per_ns > 0.0 ? 1u : ~0u;
        rate[change.number] = under_way[change.number] == 0 ? 0.0 : rate[change.number] + change.bytes_per_ns;
        series.set(change.number, change.at_ns, rate[change.number]);
    }
    series.finish(static_cast<double>(~u64{0}));
    return series;
}

class ByNumber {
public:
    explicit ByNumber(const LinkSeries& series) : stretches_(series.stretches()), first_(series.links() + 1u) {
        for (std::size_t at = 0; at < stretches_.size(); ++at) {
            ++first_[stretches_[at].link + 1u];
        }
        std::partial_sum(first_.begin(), first_.end(), first_.begin());
        std::vector<u64> next(first_.begin(), first_.end() - 1);
        order_.resize(stretches_.size());
        for (u32 at = 0; at < stretches_.size(); ++at) {
            order_[next[stretches_[at].link]++] = at;
        }
    }
    template <class Visit>
    void visit(u32 number, Visit&& visit) const {
        for (u64 at = first_[number]; at < first_[number + 1u]; ++at) {
            visit(stretches_[order_[at]]);
        }
    }

private:
    const Blocks<LinkStretch>& stretches_;
    std::vector<u64> first_;
    std::vector<u32> order_;
};

}  // namespace

std::vector<u32> numbers_in_use(const Model& model, const Recording& recording) {
    std::vector<u32> place;
    for_each_crossing(model, recording, [&](u32 link, u32, u64, u64, u64) {
        const u32 number = number_of(recording, link);
        place.resize(std::max<std::size_t>(place.size(), number + std::size_t{1}), none);
        place[number] = 0;
    });
    u32 used = 0;
    for (u32& of : place) {
        of = of == none ? none : used++;
    }
    return place;
}

std::vector<u32> rows_of_links(const Model& model, const Recording& recording) {
    const std::vector<u32>& classes = recording.link_class;
    std::vector<u32> row = numbers_in_use(model, recording);
    if (classes.empty()) {
        return row;
    }
    const std::vector<u32> place = std::exchange(row, std::vector<u32>(classes.size(), none));
    u32 rows = 0;
    for (u32 link = 0; link < row.size(); ++link) {
        const bool is_used = classes[link] < place.size() && place[classes[link]] != none;
        row[link] = is_used ? rows++ : none;
    }
    return row;
}

namespace {

LinkRates rates_of_messages(const Model& model, const Recording& recording) {
    const std::vector<u32> row = rows_of_links(model, recording);
    const auto links = static_cast<u32>(row.size());
    u32 numbers = links;
    for (u32 number : recording.link_class) {
        numbers = number == none ? numbers : std::max(numbers, number + 1);
    }
    const bool is_shared = !recording.series.is_empty();
    const bool may_overlap = !model.network.formula_groups.empty();   // messages on links by formula overlap
    const LinkSeries made = is_shared     ? LinkSeries()
                            : may_overlap ? series_of_sums(model, recording, std::vector<bool>(numbers, true))
                                          : series_of_crossings(model, recording, numbers);
    const ByNumber stretches(is_shared ? recording.series : made);
    std::vector<bool> lacks_rate(is_shared ? recording.series.links() : 0, true);
    for (std::size_t at = 0; is_shared && at < recording.series.stretches().size(); ++at) {
        lacks_rate[recording.series.stretches()[at].link] = false;
    }
    const LinkSeries sums = is_shared ? series_of_sums(model, recording, lacks_rate) : LinkSeries();
    const ByNumber of_sums(sums);
    LinkRates rates;
    for (u32 link = 0; link < links; ++link) {
        if (row[link] == none) {
            continue;
        }
        const u32 number = recording.link_class.empty() ? link : recording.link_class[link];
        const bool has_rate = !is_shared || !lacks_rate[number];
        (has_rate ? stretches : of_sums).visit(number, [&](const LinkStretch& stretch) {
            rates.row.push_back(row[link]);
            rates.from_ns.push_back(stretch.from_ns);
            rates.to_ns.push_back(stretch.to_ns);
            rates.bytes_per_ns.push_back(stretch.bytes_per_ns);
        });
    }
    return rates;
}

// Ordered by row, then time.
LinkRates summed(const LinkRates& rates, std::vector<LinkStretch>&& charged) {
    struct Change {
        u32 row;
        double at_ns;
        double bytes_per_ns;
    };
    std::vector<Change> changes;
    const auto add = [&](u32 row, double from_ns, double to_ns, double rate) {
        changes.push_back({row, from_ns, rate});
        changes.push_back({row, to_ns, -rate});
    };
    for (std::size_t at = 0; at < rates.row.size(); ++at) {
        if (rates.bytes_per_ns[at] > 0.0) {
            add(rates.row[at], rates.from_ns[at], rates.to_ns[at], rates.bytes_per_ns[at]);
        }
    }
    for (const LinkStretch& one : charged) {
        add(one.link, one.from_ns, one.to_ns, one.bytes_per_ns);
    }
    std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return a.row != b.row ? a.row < b.row : a.at_ns < b.at_ns;
    });
    LinkRates sums;
    double rate = 0.0;
    i64 several = 0;
    for (std::size_t at = 0; at + 1 < changes.size(); ++at) {
        const Change& change = changes[at];
        several += change.bytes_per_ns > 0.0 ? 1 : -1;
        rate = several == 0 ? 0.0 : rate + change.bytes_per_ns;
        if (several > 0 && changes[at + 1].at_ns > change.at_ns) {
            sums.row.push_back(change.row);
            sums.from_ns.push_back(change.at_ns);
            sums.to_ns.push_back(changes[at + 1].at_ns);
            sums.bytes_per_ns.push_back(rate);
        }
    }
    return sums;
}

using Crossing = std::tuple<u32, u64, u32, u32, u64, u64, u64>;   // row, start, sender, receiver, node, end, bytes

std::map<std::pair<u32, u32>, u32> places_of_members(const Model& model, const Outcome& outcome,
                                                     const Recording& recording) {
    std::map<std::pair<u32, u32>, u32> places;
    for (u32 rank = 0; rank < model.ranks(); ++rank) {
        const auto first = static_cast<u32>(outcome.first_node[rank]);
        for (u32 node = 0; node < model.work.job(rank).ops.size(); ++node) {
            if (recording.instance[first + node] != none) {
                places[{recording.instance[first + node], rank}] = first + node;
            }
        }
    }
    return places;
}

void add_charged(const Model& model, const Outcome& outcome, const Recording& recording,
                 const std::vector<bool>& is_wanted, std::vector<Crossing>& found) {
    const Grid grid(model.network.dimensions, model.network.tables);
    Charges charges(model, grid);
    const std::vector<u32> row_of = rows_of_charged(outcome, charges);
    const auto places = places_of_members(model, outcome, recording);
    for_each_known(model, outcome, [&](const KnownCollective& known, u32 place, u64 start, u64 end) {
        charges.for_each_pair(known, [&](u32 src, u32 dst, u64 bytes, u64) {
            const auto own = places.find({recording.instance[place], src});
            const u64 node = id_of(model, recording, own == places.end() ? place : own->second);
            for (const u32 link : charges.way(src, dst)) {
                if (row_of[link] < is_wanted.size() && is_wanted[row_of[link]]) {
                    found.emplace_back(row_of[link], start, src, dst, node, end, bytes);
                }
            }
        });
    });
}

}  // namespace

LinkRates link_rates(const Model& model, const Outcome& outcome, const Recording& recording) {
    LinkRates rates = rates_of_messages(model, recording);
    if (recording.by_port || !(recording.by_hop || recording.by_span) || !Charges::are_in(model)) {
        return rates;
    }
    const Grid grid(model.network.dimensions, model.network.tables);
    Charges charges(model, grid);
    const std::vector<u32> row_of = rows_of_charged(outcome, charges);
    const auto ticks_per_ns = static_cast<double>(model.semantics.scale.ticks_per_ns());
    std::vector<LinkStretch> charged;
    for_each_known(model, outcome, [&](const KnownCollective& known, u32, u64 start, u64 end) {
        charges.add(known, 1);
        const std::vector<u32> touched = charges.take_touched();
        const double from_ns = static_cast<double>(start) / ticks_per_ns;
        const double to_ns = static_cast<double>(end) / ticks_per_ns;
        for (const u32 link : touched) {
            charged.push_back({row_of[link], from_ns, to_ns,
                               static_cast<double>(charges.links()[link].bytes) / (to_ns - from_ns)});
        }
        charges.clear(touched);
    });
    return summed(rates, std::move(charged));
}

LinkCrossings link_crossings(const Model& model, const Outcome& outcome, const Recording& recording,
                             const std::vector<u32>& rows) {
    const std::vector<u32> row_of_link = rows_of_links(model, recording);
    std::vector<u32> row_of = row_of_link;
    if (recording.by_span && !recording.link_class.empty()) {   // for a class, its first link
        row_of.clear();
        for (u32 link = static_cast<u32>(row_of_link.size()); link-- > 0;) {
            const u32 of_class = recording.link_class[link];
            if (of_class != none) {
                row_of.resize(std::max<std::size_t>(row_of.size(), of_class + std::size_t{1}), none);
                row_of[of_class] = row_of_link[link];
            }
        }
    }
    const bool is_charged = Charges::are_in(model);
    const auto carried = outcome.links_on_demand ? outcome.links_on_demand().size() : outcome.links.size();
    std::vector<bool> is_wanted(std::max<std::size_t>(row_of_link.size(), is_charged ? carried : 0) + 1);
    for (u32 row : rows) {
        ensure(row + std::size_t{1} < is_wanted.size(), "a row of links that is not there");
        is_wanted[row] = true;
    }
    std::vector<Crossing> found;
    for_each_crossing(model, recording, [&](u32 link, u32 message, u64 start, u64 end, u64 bytes) {
        if (message != none && is_wanted[row_of[link]]) {
            const MessageLog& log = recording.messages[message];
            found.emplace_back(row_of[link], start, recording.source_of(log), log.destination,
                               id_of(model, recording, log.node), end, bytes);
        }
    });
    if (is_charged) {
        add_charged(model, outcome, recording, is_wanted, found);
    }
    std::sort(found.begin(), found.end());
    LinkCrossings crossings;
    for (const auto& [row, start, sender, receiver, node, end, bytes] : found) {
        crossings.row.push_back(row);
        crossings.sender.push_back(sender);
        crossings.receiver.push_back(receiver);
        crossings.node.push_back(node);
        crossings.start.push_back(start);
        crossings.end.push_back(end);
        crossings.bytes.push_back(bytes);
    }
    return crossings;
}

}  // namespace yantra
