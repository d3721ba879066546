// LinkSeries: each link's rate from change to change, up to rounding. Trade-off: 40 bytes a link
// and 32 a change.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blocks.hpp"
#include "base/types.hpp"

namespace yantra {

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

    // Times of a link must not decrease.
    void set(u32 link, double now_ns, double bytes_per_ns) {
        OfLink& of = links_[link];
        if (is_same(of.rate, bytes_per_ns)) {
            return;
        }
        close(link, of, now_ns);
        of.rate = bytes_per_ns;
        of.since_ns = now_ns;
    }
    void finish(double now_ns) {
        for (u32 link = 0; link < links_.size(); ++link) {
            set(link, now_ns, 0.0);
            push(link, links_[link]);
        }
    }

    bool is_empty() const { return links_.empty(); }
    u32 links() const { return static_cast<u32>(links_.size()); }
    // After finish().
    const Blocks<LinkStretch>& stretches() const { return stretches_; }
    u64 bytes() const { return links_.size() * sizeof(OfLink) + stretches_.bytes(); }

private:
    struct OfLink {
        double rate = 0.0;         // since then
        double since_ns = 0.0;
        double before = 0.0;       // the stretch before, which may continue; no bytes: none
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

    std::vector<OfLink> links_;
    Blocks<LinkStretch> stretches_;
};

}  // namespace yantra
