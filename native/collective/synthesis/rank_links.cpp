#include "collective/synthesis/rank_links.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/unsupported.hpp"
#include "collective/synthesis/flow_network.hpp"

namespace yantra::synthesis {

namespace {

// Capacities by (from, to), mirrored in a flow network.
class Splitter {
public:
    Splitter(u32 ranks, u32 devices, const std::vector<Link>& links, Amount trees)
        : ranks_(ranks), devices_(devices), trees_(trees), network_(devices + 1), links_(devices) {
        for (u32 rank = 0; rank < ranks; ++rank) {
            network_.add(devices, rank, trees);
        }
        for (const Link& link : links) {
            change(link.start, link.end, link.capacity);
        }
        for (const Link& link : links) {
            Held& held = links_[link.start].at(link.end);
            held.ways = {{held.capacity, {link.start, link.end}}};
        }
    }

    void remove(u32 gone) {
        if (!split_evenly(gone)) {
            split_in_pairs(gone);
        }
    }

    std::vector<RankLink> result() {
        std::vector<RankLink> made;
        for (u32 start = 0; start < ranks_; ++start) {
            for (auto& [end, held] : links_[start]) {
                if (held.capacity > 0) {
                    made.push_back({start, end, held.capacity, std::move(held.ways)});
                }
            }
        }
        return made;
    }

private:
    struct Held {
        u32 arc = none;
        Amount capacity = 0;
        std::vector<Way> ways;
    };
    struct Part {
        u32 device;
        Amount left;
    };
    struct Split {
        u32 from;
        u32 to;
        Amount amount;
    };

    Amount capacity(u32 start, u32 end) const {
        const auto at = links_[start].find(end);
        return at == links_[start].end() ? 0 : at->second.capacity;
    }

    void change(u32 start, u32 end, Amount by) {
        Held& held = links_[start][end];
        if (held.arc == none) {
            held.arc = network_.add(start, end, 0);
        }
        held.capacity += by;
        network_.set(held.arc, held.capacity);
    }

    // What would return to its origin is dropped.
    void shift(u32 gone, const Split& split, Amount amount) {
        change(split.from, gone, -amount);
        change(gone, split.to, -amount);
        if (split.from != split.to) {
            change(split.from, split.to, amount);
        }
    }

    // What the worst rank lacks.
    Amount missing() {
        const Amount needed = trees_ * ranks_;
        Amount worst = 0;
        for (u32 rank = 0; rank < ranks_; ++rank) {
            worst = std::max(worst, needed - network_.flow(devices_, rank, needed));
        }
        return worst;
    }

    std::vector<Part> coming(u32 gone) const {
        std::vector<Part> parts;
        for (u32 device = 0; device < devices_; ++device) {
            if (const Amount rate = capacity(device, gone); rate > 0) {
                parts.push_back({device, rate});
            }
        }
        return parts;
    }

    std::vector<Part> going(u32 gone) const {
        std::vector<Part> parts;
        for (const auto& [end, held] : links_[gone]) {
            if (held.capacity > 0) {
                parts.push_back({end, held.capacity});
            }
        }
        return parts;
    }

    bool split_evenly(u32 gone) {
        std::vector<Part> in = coming(gone);
        std::vector<Part> out = going(gone);
        std::vector<Split> splits;
        const auto is_rank = [&](const Part& part) { return part.device < ranks_; };
        for (const auto& [from_rank, to_rank] : {std::pair{false, true}, {true, false}, {true, true}, {false, false}}) {
            for (Part& from : in) {
                if (is_rank(from) == from_rank) {
                    spread(from, out, splits, [&](const Part& to) { return is_rank(to) == to_rank; });
                }
            }
        }
        const auto has_more = [](const Part& part) { return part.left > 0; };
        if (std::any_of(in.begin(), in.end(), has_more) || std::any_of(out.begin(), out.end(), has_more)) {
            return false;
        }
        for (const Split& split : splits) {
            shift(gone, split, split.amount);
        }
        if (missing() > 0) {
            for (const Split& split : splits) {
                shift(gone, split, -split.amount);
            }
            return false;
        }
        for (const Split& split : splits) {
            lead(gone, split);
        }
        return true;
    }

    // Gives to those with most room, a share at a time.
    template <class Wanted>
    void spread(Part& from, std::vector<Part>& out, std::vector<Split>& splits, Wanted wanted) {
        const auto count = std::max<Amount>(1, static_cast<Amount>(out.size()) - 1);
        const Amount share = std::max<Amount>(1, from.left / count);
        while (from.left > 0) {
            Part* best = nullptr;
            u32 nearest = none;
            for (Part& to : out) {
                const u32 ahead = (to.device + devices_ - from.device) % devices_;
                const bool fits = to.left > 0 && to.device != from.device && wanted(to);
                if (fits && (best == nullptr || to.left > best->left || (to.left == best->left && ahead < nearest))) {
                    best = &to;
                    nearest = ahead;
                }
            }
            if (best == nullptr) {
                return;
            }
            const Amount amount = std::min({share, from.left, best->left});
            from.left -= amount;
            best->left -= amount;
            splits.push_back({from.device, best->device, amount});
        }
    }

    void split_in_pairs(u32 gone) {
        std::vector<Part> in = coming(gone);
        for (const Part& to : going(gone)) {
            // Flow that returns is useless.
            std::stable_partition(in.begin(), in.end(), [&](const Part& from) { return from.device != to.device; });
            for (const Part& from : in) {
                const Amount most = std::min(capacity(from.device, gone), capacity(gone, to.device));
                if (most == 0) {
                    continue;
                }
                Split split{from.device, to.device, most};
                shift(gone, split, most);
                const Amount back = std::min(missing(), most);
                shift(gone, split, -back);
                split.amount = most - back;
                lead(gone, split);
            }
            if (capacity(gone, to.device) > 0) {
                throw Unsupported("a switch does not let out as much as comes in");
            }
        }
        if (!coming(gone).empty()) {
            throw Unsupported("a switch does not let out as much as comes in");
        }
    }

    // Precondition: capacities are already changed.
    void lead(u32 gone, const Split& split) {
        std::vector<Way> first = take(links_[split.from].at(gone).ways, split.amount);
        std::vector<Way> second = take(links_[gone].at(split.to).ways, split.amount);
        if (split.from == split.to) {
            return;
        }
        std::vector<Way>& into = links_[split.from][split.to].ways;
        std::size_t at = 0;
        for (Way& one : first) {
            while (one.amount > 0) {
                Way& other = second[at];
                const Amount amount = std::min(one.amount, other.amount);
                Way whole{amount, one.devices};
                whole.devices.insert(whole.devices.end(), other.devices.begin() + 1, other.devices.end());
                into.push_back(std::move(whole));
                one.amount -= amount;
                other.amount -= amount;
                at += other.amount == 0;
            }
        }
    }

    static std::vector<Way> take(std::vector<Way>& ways, Amount amount) {
        std::vector<Way> taken;
        while (amount > 0) {
            Way& last = ways.back();
            const Amount part = std::min(amount, last.amount);
            taken.push_back({part, last.devices});
            amount -= part;
            last.amount -= part;
            if (last.amount == 0) {
                ways.pop_back();
            }
        }
        return taken;
    }

    u32 ranks_;
    u32 devices_;
    Amount trees_;
    FlowNetwork network_;
    std::vector<std::map<u32, Held>> links_;
};

}  // namespace

std::vector<RankLink> rank_links(u32 ranks, u32 devices, const std::vector<Link>& links,
                                 Amount trees) {
    Splitter splitter(ranks, devices, links, trees);
    for (u32 gone = devices; gone-- > ranks;) {  // devices far from the ranks have higher numbers
        splitter.remove(gone);
    }
    return splitter.result();
}

}  // namespace yantra::synthesis
