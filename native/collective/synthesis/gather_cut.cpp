#include "collective/synthesis/gather_cut.hpp"

#include <vector>

#include "base/ensure.hpp"
#include "collective/synthesis/flow_network.hpp"

namespace yantra::synthesis {

namespace {

GatherCut found(const std::vector<u8>& side, u32 ranks, u32 devices,
                const std::vector<Link>& links) {
    GatherCut cut;
    cut.inside.assign(side.begin(), side.begin() + devices);
    for (u32 rank = 0; rank < ranks; ++rank) {
        cut.ranks += cut.inside[rank];
    }
    for (const Link& link : links) {
        if (cut.inside[link.start] != 0 && cut.inside[link.end] == 0) {
            cut.exit += link.capacity;
        }
    }
    return cut;
}

}  // namespace

GatherCut gather_cut(u32 ranks, u32 devices, const std::vector<Link>& links,
                     const std::vector<u32>& sinks) {
    FlowNetwork network(devices + 1);
    const u32 source = devices;
    std::vector<u32> arcs;
    GatherCut worst;
    worst.exit = 1;
    worst.ranks = 1;
    for (const Link& link : links) {
        arcs.push_back(network.add(link.start, link.end, 0));
        worst.exit += link.capacity;
    }
    std::vector<u32> given;
    for (u32 rank = 0; rank < ranks; ++rank) {
        given.push_back(network.add(source, rank, 0));
    }
    const auto scale = [&] {
        for (std::size_t at = 0; at < links.size(); ++at) {
            network.set(arcs[at], links[at].capacity * worst.ranks);
        }
        for (const u32 arc : given) {
            network.set(arc, worst.exit);
        }
    };
    scale();
    for (const u32 sink : sinks) {
        ensure(sink < ranks, "a sink is a rank");
        while (network.flow(source, sink) < worst.exit * ranks) {
            worst = found(network.side(), ranks, devices, links);
            ensure(worst.exit > 0 && worst.ranks > 0, "every rank reaches every other");
            scale();
        }
    }
    return worst;
}

}  // namespace yantra::synthesis
