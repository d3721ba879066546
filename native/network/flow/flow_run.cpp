#include "network/flow/flow_run.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace yantra {

namespace {

[[noreturn]] void refuse(std::size_t flow, const std::string& what) {
    throw std::invalid_argument("flow " + std::to_string(flow) + ": " + what);
}

}  // namespace

FlowRun::FlowRun(FlowList flows, LinkSpeeds links, bool keeps_series)
    : flows_(std::move(flows)), links_(std::move(links)) {
    check();
    end_ns_.assign(flows_.bytes.size(), std::numeric_limits<double>::infinity());
    if (keeps_series) {
        series_ = LinkSeries(static_cast<u32>(links_.bytes_per_ns.size()));
    }
}

double FlowRun::latency_of(std::span<const u32> links) const {
    double sum = 0.0;
    for (u32 link : links) {
        sum += links_.latency_ns[link];
    }
    return sum;
}

void FlowRun::check() const {
    if (links_.latency_ns.size() != links_.bytes_per_ns.size()) {
        throw std::invalid_argument("flows: columns of links of different lengths");
    }
    const std::size_t count = flows_.bytes.size();
    if (flows_.start_ns.size() != count || flows_.first_hop.size() != count + 1 || flows_.first_hop.front() != 0 ||
        flows_.first_hop.back() != flows_.hops.size() || count >= none) {
        throw std::invalid_argument("flows: columns of different lengths");
    }
    std::vector<u32> last_flow(links_.latency_ns.size(), none);
    for (std::size_t flow = 0; flow < count; ++flow) {
        if (!(flows_.bytes[flow] >= 0.0) || !std::isfinite(flows_.bytes[flow]) || !(flows_.start_ns[flow] >= 0.0) ||
            !std::isfinite(flows_.start_ns[flow])) {
            refuse(flow, "bytes and start must be 0 or more");
        }
        if (flows_.first_hop[flow + 1] < flows_.first_hop[flow] || flows_.first_hop[flow + 1] > flows_.hops.size()) {
            refuse(flow, "a route that ends before it begins");
        }
        for (u32 link : flows_.route(flow)) {
            if (link >= links_.latency_ns.size() || last_flow[link] == flow) {
                refuse(flow, "link " + std::to_string(link) + " of its route is not there, or there twice");
            }
            last_flow[link] = static_cast<u32>(flow);
        }
    }
}

}  // namespace yantra
