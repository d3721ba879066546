#include "network/flow/level/common.hpp"

#include <cmath>

namespace yantra::inline YANTRA_RUN::flow {

namespace {

std::vector<double> rates_of(const Ways& ways) {
    std::vector<double> rates(ways.links());
    for (u32 link = 0; link < rates.size(); ++link) {
        const double rate = ways.bytes_per_ns(link);
        rates[link] = std::isfinite(rate) ? rate : 0.0;   // no flow shares a link without limit
    }
    return rates;
}

}  // namespace

Common::Common(const NetworkSetup& setup, std::unique_ptr<Ways> given, const Options& options)
    : most_parts(options.parts),
      ways(std::move(given)),
      is_over_classes(ways->class_of() != nullptr),
      clock(setup.semantics.scale, setup.engine.queue),
      sharing(rates_of(*ways)),
      probe(setup.engine.recorder()),
      sending(*ways, routes, options.in_order),
      routes(setup.parameters, *ways, sharing, options.rtt_fairness, sending),
      carried(routes, ways->links()) {
    probe.keeps(ways->links(), ways->groups(), [this](u32 link) { return ways->group(link); });
    probe.stand_for(ways->class_of());
    sharing.note_in(probe.shared(ways->links()));
}

void Common::note_carried(const Part& part, u64 bytes, u64 until) {
    routes.visit(part.route, [&](LinkId link, const Way::Part& of) {
        const u64 here =
            of.shared == 1.0 ? bytes : static_cast<u64>(std::llround(static_cast<double>(bytes) * of.shared));
        probe.carried(part.transit.index(), link.index(), part.entered, until, here);
    });
}

}  // namespace yantra::inline YANTRA_RUN::flow
