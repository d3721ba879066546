// Sending: the flows that have not left their senders, as routings by load see them; those that
// follow each other on a connection load a link as one.
#pragma once

#include "base/ids.hpp"
#include "base/number_map.hpp"
#include "base/variant.hpp"
#include "network/flow/level/parts.hpp"
#include "network/flow/level/routes.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Sending final : public LinkLoads {
public:
    Sending(const Ways& ways, const Routes& routes, bool in_order)
        : ways_(ways), routes_(routes), in_order_(in_order), over_(ways.links()) {}

    bool follows(const Part& part) const { return in_order_ || static_cast<u32>(part.order) != 0; }
    u64 line_of(const Part& part) const;

    // Flows for each byte per ns.
    double load(u32 link) const override { return over_[LinkId(link)] / ways_.bytes_per_ns(link); }
    void starts(Part& part) { count(part, true); }
    void stops(Part& part) { count(part, false); }

private:
    struct Sent {
        u32 count = 0;
        RouteId route;
    };

    void count(Part& part, bool is_sending);
    RouteId changes_line(const Part& part, bool is_sending);

    const Ways& ways_;
    const Routes& routes_;
    const bool in_order_;
    IdVector<LinkId, double> over_;
    NumberMap<Sent> in_line_;
};

}  // namespace yantra::inline YANTRA_RUN::flow
