// KnownWays: gives distinct ways ids, held in two arrays.
#pragma once

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.hpp"
#include "base/huge_pages.hpp"
#include "base/number_map.hpp"
#include "base/types.hpp"
#include "base/variant.hpp"
#include "fabric/way.hpp"
#include "network/flow/level/ids.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class KnownWays {
public:
    u32 size() const { return static_cast<u32>(ways_.size()); }
    std::span<const LinkId> links(RouteId way) const {
        const Known& of = ways_[way.index()];
        return {links_.data() + of.first, of.hops};
    }
    // visit(link, part) each.
    template <class Visit>
    void visit(RouteId way, Visit&& visit) const {
        const Known& of = ways_[way.index()];
        for (u32 at = 0; at < of.hops; ++at) {
            visit(links_[of.first + at], of.first_part == no_parts ? Way::Part{} : parts_[of.first_part + at]);
        }
    }
    double latency_ns(RouteId way) const { return ways_[way.index()].latency_ns; }

    RouteId id(const Way& way) {
        u64 hash = way.links.size();
        for (u32 link : way.links) {
            hash = mix(hash, link);
        }
        hash >>= 1U;   // which avoids the reserved key
        u32* const first = first_of_hash_.find(hash);
        for (u32 at = first == nullptr ? none : *first; at != none; at = ways_[at].next) {
            if (is(at, way)) {
                return RouteId(at);
            }
        }
        const u32 added = add(way);
        if (first == nullptr) {
            first_of_hash_.add(hash, added);
        } else {
            ways_[added].next = std::exchange(*first, added);
        }
        return RouteId(added);
    }

private:
    static constexpr u64 no_parts = ~u64{0};

    struct Known {
        u64 first = 0;               // of its links
        u64 first_part = no_parts;
        double latency_ns = 0.0;
        u32 hops = 0;
        u32 next = none;             // of the same hash
    };

    bool is(u32 known, const Way& way) const {
        const Known& of = ways_[known];
        return of.latency_ns == way.latency_ns && std::ranges::equal(links(RouteId(known)), way.links, {}, &LinkId::index) &&
               (of.first_part == no_parts) == way.parts.empty() &&
               std::equal(way.parts.begin(), way.parts.end(), parts_.begin() + (way.parts.empty() ? 0 : of.first_part));
    }
    u32 add(const Way& way) {
        Known& known = ways_.emplace_back();
        known.first = links_.size();
        known.hops = static_cast<u32>(way.links.size());
        known.latency_ns = way.latency_ns;
        for (u32 link : way.links) {
            links_.push_back(LinkId(link));
        }
        known.first_part = way.parts.empty() ? no_parts : parts_.size();
        for (const Way::Part& part : way.parts) {
            parts_.push_back(part);
        }
        return size() - 1;
    }

    HugeVector<Known> ways_;
    HugeVector<LinkId> links_;
    HugeVector<Way::Part> parts_;
    NumberMap<u32> first_of_hash_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
