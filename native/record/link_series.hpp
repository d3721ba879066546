// LinkSeries: at which rate each link carries bytes, from one change of it to the next.
//
// A link has a rate from a time on; stretches of the same rate that follow each other are one. Rates that differ
// by less than rounding does are the same. Trade-off: 40 bytes for each link and 32 for each change, however
// many flows share the link.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/blocks.hpp"
#include "base/types.hpp"
#include "base/vector.hpp"

namespace yantra {

// Bytes per ns that a link carried between two times.
struct LinkStretch {
    u32 link = none;
    double from_ns = 0.0;
    double to_ns = 0.0;
    double bytes_per_ns = 0.0;
};

class LinkSeries {
public:
    LinkSeries() = default;
    explicit LinkSeries(u32 links) : links_(links) {}

    // From now on the link carries at this rate. No time of a link may be before an earlier one.
    void set(u32 link, double now_ns, double bytes_per_ns) {
        OfLink& of = links_[link];
        if (is_same(of.rate, bytes_per_ns)) {
            return;
        }
        close(link, of, now_ns);
        of.rate = bytes_per_ns;
        of.since_ns = now_ns;
    }
    // Ends what is under way.
    void finish(double now_ns) {
        for (u32 link = 0; link < links_.size(); ++link) {
            set(link, now_ns, 0.0);
            push(link, links_[link]);
        }
    }

    bool is_empty() const { return links_.empty(); }
    u32 links() const { return static_cast<u32>(links_.size()); }
    // After finish(): those of one link in the order of time.
    const Blocks<LinkStretch>& stretches() const { return stretches_; }
    u64 bytes() const { return links_.size() * sizeof(OfLink) + stretches_.bytes(); }

private:
    struct OfLink {
        double rate = 0.0;         // since then
        double since_ns = 0.0;
        double before = 0.0;       // the stretch before, which may go on; no bytes: there is none
        double before_from_ns = 0.0;
        double before_to_ns = 0.0;
    };

    static bool is_same(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); }

    void close(u32 link, OfLink& of, double now_ns) {
        if (!(of.rate > 0.0 && now_ns > of.since_ns)) {
            return;
        }
        if (of.before_to_ns == of.since_ns && is_same(of.before, of.rate)) {
            of.before_to_ns = now_ns;
            return;
        }
        push(link, of);
        of.before = of.rate;
        of.before_from_ns = of.since_ns;
        of.before_to_ns = now_ns;
    }
    void push(u32 link, OfLink& of) {
        if (of.before > 0.0) {
            stretches_.push_back({link, of.before_from_ns, of.before_to_ns, of.before});
            of.before = 0.0;
        }
    }

    Vector<OfLink> links_;
    Blocks<LinkStretch> stretches_;
};

}  // namespace yantra
