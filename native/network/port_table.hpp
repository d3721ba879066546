// PortTable: which port (one direction of a rank's link) a link is, and what it carried. It gets
// its number when first crossed; in a folded run its class is its number.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/variant.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"
#include "network/crossed.hpp"
#include "network/network.hpp"

namespace yantra::inline YANTRA_RUN {

// By the classes of their ranks if messages cross only links of source and destination; else by
// classes of links.
struct PortClasses {
    const std::vector<u32>* of_ranks = nullptr;   // by rank
    const std::vector<u64>* ranks = nullptr;      // by class of ranks: how many
    const LinkClasses* of_links = nullptr;
    bool are_given() const { return of_ranks != nullptr || of_links != nullptr; }
    // `none` where no message passes.
    u32 of(u32 link, u32 dimension, u32 at, Block block) const {
        if (of_links != nullptr) {
            return of_links->class_of[link];
        }
        if (block != Block::ring && block != Block::switched) {
            return none;
        }
        return (dimension * static_cast<u32>(ranks->size()) + (*of_ranks)[at / 2]) * 2 + at % 2;
    }
};

struct Port {
    u64 free = 0;        // tick at which all messages that came are through
    u64 held_until = 0;  // tick
    u32 held_by = none;
    u32 dimension = 0;
    u32 link = none;     // of a run of all ranks
    u32 coming = 0;      // messages sent that have not yet come to it
    u32 newcomers = 0;   // of this tick
    LinkUse use;
};

class PortTable {
public:
    struct Hops {
        u32 dimension = none;
        u32 out = none;
        u32 in = none;        // none where one link is the whole way
        bool is_simple() const { return dimension != none; }
    };

    PortTable(const Grid& grid, TimeScale scale, const PortClasses& classes);

    bool are_classes() const { return are_classes_; }
    const Links& links() const { return links_; }
    bool has(u32 link, u32 dimension) const {
        return grid_.table(dimension) == nullptr || is_at_rank(link);
    }
    u32 of(u32 link) {
        if (!are_classes_) [[likely]] {
            return !number_.empty() && number_[link] != none ? number_[link] : numbered(link);
        }
        return of_class(link);
    }
    u32 class_of(u32 link) const;
    // Its name in a recording.
    u32 recorded(u32 port) const { return are_classes_ ? port : ports_[port].link; }
    // Not simple where it crosses more links.
    Hops hops(u32 src, u32 dst);

    u64 latency(u32 dimension) const { return latency_[dimension]; }
    u64 lead_to(const Hops& hops) const { return hops.in == none ? 0 : latency_[hops.dimension]; }
    u64 busy_ticks(u32 dimension, u64 bytes) {
        Times& times = times_[dimension];
        if (times.bytes != bytes) [[unlikely]] {
            const double bytes_per_ns = grid_.dimension(dimension).bytes_per_ns;
            times = {bytes, scale_.ticks(static_cast<double>(bytes) / bytes_per_ns)};
        }
        return times.busy;
    }
    void carry(u32 port, u64 bytes, u64 times) {
        Port& of = ports_[port];
        of.use.bytes += bytes * times;
        of.use.messages += times;
        of.use.busy_ticks += busy_ticks(of.dimension, bytes) * times;
    }
    void carry(const Hops& hops, u64 bytes, u64 times) {
        carry(hops.out, bytes, times);
        if (hops.in != none) {
            carry(hops.in, bytes, times);
        }
    }

    Port& operator[](u32 port) { return ports_[port]; }
    const Port& operator[](u32 port) const { return ports_[port]; }
    u32 size() const { return static_cast<u32>(ports_.size()); }
    auto begin() { return ports_.begin(); }
    auto end() { return ports_.end(); }
    auto begin() const { return ports_.begin(); }
    auto end() const { return ports_.end(); }
    std::vector<LinkRecord> records() const;
    static std::vector<LinkRecord> records_of(const Grid& grid, const PortClasses& classes,
                                              const std::vector<LinkUse>& uses);

private:
    // The times of the last size.
    struct Times {
        u64 bytes = ~u64{0};
        u64 busy = 0;
    };

    u32 numbered(u32 link);
    u32 of_class(u32 link) const;
    bool is_at_rank(u32 link) const;

    const Grid& grid_;
    TimeScale scale_;
    Links links_;
    std::vector<u32> first_link_;       // by dimension
    std::vector<u64> latency_;          // by dimension: ticks
    std::vector<Times> times_;          // by dimension
    PortClasses classes_;
    bool are_classes_;
    std::vector<Port> ports_;
    std::vector<u32> number_;           // by link, if few: its port, of a run of all ranks
    std::unordered_map<u32, u32> numbers_;   // the same if many
};

}  // namespace yantra
