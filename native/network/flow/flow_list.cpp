#include "network/flow/flow_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "base/hash.hpp"
#include "network/flow/sharing.hpp"

namespace yantra {

namespace {

constexpr double never_ns = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(std::size_t flow, const std::string& what) {
    throw std::invalid_argument("flow " + std::to_string(flow) + ": " + what);
}

class Simulated {
public:
    Simulated(const FlowList& flows, const std::vector<double>& bytes_per_ns,
              const std::vector<double>& latency_ns, bool rtt_fairness)
        : flows_(flows), latency_ns_(latency_ns), rtt_fairness_(rtt_fairness), sharing_(bytes_per_ns) {
        check();
        times_.end_ns.assign(flows.bytes.size(), never_ns);
        for (std::size_t flow = 0; flow < flows.bytes.size(); ++flow) {
            enters_ns_.push_back(flows.start_ns[flow] + latency_of(route(flow)));
        }
        classes_.reserve(flows.bytes.size());
        order_.resize(flows.bytes.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [this](u32 a, u32 b) { return enters_ns_[a] < enters_ns_[b]; });
    }

    FlowTimes run(const std::vector<RateChange>& changes) {
        std::size_t changed = 0;
        for (std::size_t entered = 0;;) {
            const double enters = entered < order_.size() ? enters_ns_[order_[entered]] : never_ns;
            const double changes_ns = changed < changes.size() ? changes[changed].at_ns : never_ns;
            const double ends = sharing_.next_end_ns();
            const double next = std::min({enters, changes_ns, ends});
            if (next == never_ns) {
                break;
            }
            if (ends == next) {
                end();
            } else if (changes_ns == next) {
                sharing_.set_capacity(changes[changed].link, changes[changed].bytes_per_ns, next);
                ++changed;
            } else {
                for (; entered < order_.size() && enters_ns_[order_[entered]] == next; ++entered) {
                    enter(order_[entered]);
                }
            }
        }
        times_.solves = sharing_.rates().solves();
        return std::move(times_);
    }

private:
    std::span<const u32> route(std::size_t flow) const {
        return {flows_.hops.data() + flows_.first_hop[flow], flows_.first_hop[flow + 1] - flows_.first_hop[flow]};
    }
    double latency_of(std::span<const u32> links) const {
        double sum = 0.0;
        for (u32 link : links) {
            sum += latency_ns_[link];
        }
        return sum;
    }

    void check() const {
        const std::size_t count = flows_.bytes.size();
        if (flows_.start_ns.size() != count || flows_.first_hop.size() != count + 1 ||
            flows_.first_hop.front() != 0 || flows_.first_hop.back() != flows_.hops.size() || count >= none) {
            throw std::invalid_argument("flows: columns of different lengths");
        }
        std::vector<u32> last_flow(latency_ns_.size(), none);
        for (std::size_t flow = 0; flow < count; ++flow) {
            if (!(flows_.bytes[flow] >= 0.0) || !std::isfinite(flows_.bytes[flow]) ||
                !(flows_.start_ns[flow] >= 0.0) || !std::isfinite(flows_.start_ns[flow])) {
                refuse(flow, "bytes and start must be 0 or more");
            }
            if (flows_.first_hop[flow + 1] < flows_.first_hop[flow] ||
                flows_.first_hop[flow + 1] > flows_.hops.size()) {
                refuse(flow, "a route that ends before it begins");
            }
            for (u32 link : route(flow)) {
                if (link >= latency_ns_.size() || last_flow[link] == flow) {
                    refuse(flow, "link " + std::to_string(link) + " of its route is not there, or there twice");
                }
                last_flow[link] = static_cast<u32>(flow);
            }
        }
    }

    void enter(u32 flow) {
        if (flows_.bytes[flow] == 0.0 || route(flow).empty()) {
            times_.end_ns[flow] = enters_ns_[flow];
            return;
        }
        const u32 number = sharing_.start(class_of(route(flow)), flows_.bytes[flow], enters_ns_[flow]);
        if (flow_of_.size() <= number) {
            flow_of_.resize(number + std::size_t{1});
        }
        flow_of_[number] = flow;
    }

    void end() {
        ended_.clear();
        const double now = sharing_.next_end_ns();
        sharing_.end_next(ended_);
        for (u32 number : ended_) {
            times_.end_ns[flow_of_[number]] = now;
        }
    }

    // Flows over the same links are one class.
    u32 class_of(std::span<const u32> links) {
        u64 hash = links.size();
        for (u32 link : links) {
            hash = mix(hash, link);
        }
        const auto [first, last] = classes_.equal_range(hash);
        for (auto at = first; at != last; ++at) {
            const std::span<const u32> known = sharing_.rates().links_of(at->second);
            if (std::equal(known.begin(), known.end(), links.begin(), links.end())) {
                return at->second;
            }
        }
        const double latency = latency_of(links);
        const double weight = rtt_fairness_ && latency > 0.0 ? 1.0 / (2.0 * latency) : 1.0;
        const u32 made = sharing_.add_class(links, weight);
        classes_.emplace(hash, made);
        return made;
    }

    const FlowList& flows_;
    const std::vector<double>& latency_ns_;
    const bool rtt_fairness_;
    FlowSharing sharing_;
    std::vector<double> enters_ns_;
    std::vector<u32> order_;
    std::vector<u32> flow_of_;
    std::vector<u32> ended_;
    std::unordered_multimap<u64, u32> classes_;
    FlowTimes times_;
};

}  // namespace

FlowTimes simulate_flows(const FlowList& flows, const std::vector<double>& bytes_per_ns,
                         const std::vector<double>& latency_ns, bool rtt_fairness,
                         const std::vector<RateChange>& changes) {
    if (latency_ns.size() != bytes_per_ns.size()) {
        throw std::invalid_argument("flows: columns of links of different lengths");
    }
    double before_ns = 0.0;
    for (const RateChange& change : changes) {
        if (!(change.at_ns >= before_ns) || change.link >= bytes_per_ns.size() || !(change.bytes_per_ns >= 0.0)) {
            throw std::invalid_argument("flows: changes of links that are there, in order of time, are expected");
        }
        before_ns = change.at_ns;
    }
    return Simulated(flows, bytes_per_ns, latency_ns, rtt_fairness).run(changes);
}

}  // namespace yantra
