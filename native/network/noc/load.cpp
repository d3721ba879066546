#include "network/noc/load.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "engine/rng.hpp"
#include "network/noc/simulator.hpp"
#include "network/noc/traffic.hpp"

namespace yantra::noc {

namespace {

constexpr u64 arrival_purpose = 0x6e6f6303;
constexpr double steady_change = 0.05;   // of the mean between samples
constexpr u32 steady_samples = 3;
constexpr u64 cycles_between_drain_checks = 1000;

double ratio(double sum, u64 count) { return count == 0 ? 0.0 : sum / static_cast<double>(count); }

struct Sums {
    u64 packets = 0;
    double latency = 0.0;
    double network_latency = 0.0;
    double routers = 0.0;
    std::vector<u64> of_latency;

    void add(const Packet& packet, u64 now) {
        const u64 took = now - packet.created;
        ++packets;
        latency += static_cast<double>(took);
        network_latency += static_cast<double>(now - packet.injected);
        routers += packet.routers;
        if (of_latency.size() <= took) {
            of_latency.resize(took + 1);
        }
        ++of_latency[took];
    }

    double percentile(double percent) const {
        const auto rank = static_cast<u64>(std::ceil(percent / 100.0 * static_cast<double>(packets)));
        u64 seen = 0;
        for (std::size_t took = 0; took < of_latency.size(); ++took) {
            seen += of_latency[took];
            if (seen >= std::max<u64>(rank, 1)) {
                return static_cast<double>(took);
            }
        }
        return 0.0;
    }
};

class OpenLoop final : private Observer {
public:
    OpenLoop(const Settings& settings, const LoadOptions& options, double rate)
        : options_(options),
          rate_(rate),
          packet_flits_(settings.packet_flits),
          chance_(rate / settings.packet_flits),
          simulator_(settings, *this),
          traffic_(options.traffic, simulator_.shape(), options.hotspot, settings.seed) {
        for (u32 node = 0; node < simulator_.shape().nodes(); ++node) {
            draws_.emplace_back(settings.seed, arrival_purpose, node);
            next_.push_back(0);
            next_[node] = first_after(node, 0);
        }
    }

    LoadPoint run() {
        u32 steady = 0;
        double latency_before = 0.0;
        double accepted_before = 0.0;
        for (u32 sample = 0; sample < options_.most_samples; ++sample) {
            const bool is_measured = sample >= options_.warmup_samples;
            if (!is_measured ? sample % 2 == 0 : sample == options_.warmup_samples) {
                clear();
            }
            is_measured_ = is_measured;
            run_sample();
            const double latency = ratio(sums_.latency, sums_.packets);
            const double accepted = accepted_rate();
            if (is_too_much()) {
                return point(false);
            }
            const bool is_steady = std::abs(latency - latency_before) <= steady_change * latency &&
                                   std::abs(accepted - accepted_before) <= steady_change * accepted;
            latency_before = latency;
            accepted_before = accepted;
            steady = is_measured && is_steady ? steady + 1 : 0;
            if (steady == steady_samples) {
                break;
            }
        }
        accepted_ = accepted_rate();
        return point(drain());
    }

private:
    static constexpr u32 measured = 1;

    void arrived(const Packet& packet) override {
        measured_left_ -= packet.tag;
        if (packet.tag == measured || (!is_measured_ && !is_draining_)) {
            sums_.add(packet, simulator_.now());
        }
    }

    // Gaps of equal draws are geometric.
    u64 first_after(u32 node, u64 cycle) {
        if (chance_ >= 1.0) {
            return cycle;
        }
        const double gap = std::floor(std::log1p(-draws_[node].uniform()) / std::log1p(-chance_));
        return cycle + static_cast<u64>(std::min(gap, 1e15));
    }

    // The next packet may be overdue.
    void create() {
        const u64 now = simulator_.now();
        for (u32 node = 0; node < next_.size(); ++node) {
            if (next_[node] <= now && simulator_.source_is_empty(node)) {
                const u32 to = traffic_.destination(node, draws_[node]);
                const bool counts = is_measured_ || next_[node] < measured_until_;
                simulator_.send(node, to, packet_flits_, counts ? measured : 0, next_[node]);
                measured_left_ += counts ? 1 : 0;
                next_[node] = first_after(node, next_[node] + 1);
            }
        }
    }

    void run_sample() {
        for (u64 cycle = 0; cycle < options_.sample_cycles; ++cycle) {
            create();
            simulator_.step();
        }
    }

    void clear() {
        sums_ = Sums{};
        cleared_at_ = simulator_.now();
        arrived_before_ = simulator_.flits_arrived();
    }

    double accepted_rate() const {
        const double flits = static_cast<double>(simulator_.flits_arrived() - arrived_before_);
        return flits / static_cast<double>(simulator_.now() - cleared_at_) / static_cast<double>(next_.size());
    }

    bool is_too_much() const {
        const double flits = static_cast<double>(simulator_.flits_under_way());
        const double waited = flits * static_cast<double>(simulator_.now()) -
                              static_cast<double>(simulator_.created_under_way());
        const double count = static_cast<double>(sums_.packets) + flits;
        return count > 0.0 && (sums_.latency + waited) / count > options_.unstable_cycles;
    }

    bool drain() {
        measured_until_ = simulator_.now();
        is_measured_ = false;
        is_draining_ = true;
        while (measured_left_ > 0 || *std::min_element(next_.begin(), next_.end()) < measured_until_) {
            create();
            simulator_.step();
            if ((simulator_.now() - measured_until_) % cycles_between_drain_checks == 0 && is_too_much()) {
                return false;
            }
        }
        return true;
    }

    LoadPoint point(bool is_stable) const {
        LoadPoint made;
        made.rate = rate_;
        made.accepted = is_draining_ ? accepted_ : accepted_rate();
        made.packet_latency = ratio(sums_.latency, sums_.packets);
        made.network_latency = ratio(sums_.network_latency, sums_.packets);
        made.latency_p50 = sums_.percentile(50);
        made.latency_p99 = sums_.percentile(99);
        made.latency_most = sums_.percentile(100);
        made.routers = ratio(sums_.routers, sums_.packets);
        made.is_stable = is_stable;
        made.packets = sums_.packets;
        made.cycles = simulator_.now();
        made.flit_hops = simulator_.channels().crossings().flit_hops();
        return made;
    }

    const LoadOptions& options_;
    const double rate_;
    const u32 packet_flits_;
    const double chance_;    // of a node to create a packet in a cycle
    Simulator simulator_;
    Traffic traffic_;
    std::vector<Rng> draws_;      // by node
    std::vector<u64> next_;       // by node: the cycle of its next packet
    Sums sums_;
    bool is_measured_ = false;
    bool is_draining_ = false;
    u64 measured_left_ = 0;
    u64 measured_until_ = 0;      // while draining: packets due before count
    u64 cleared_at_ = 0;
    u64 arrived_before_ = 0;
    double accepted_ = 0.0;
};

void check(const Settings& settings, const LoadOptions& options, double rate) {
    if (!(rate > 0.0 && rate <= 1.0)) {
        throw std::invalid_argument("rate: more than 0 and at most 1 flit a node and cycle is expected, not " +
                                    std::to_string(rate));
    }
    if (options.sample_cycles == 0 || options.most_samples <= options.warmup_samples) {
        throw std::invalid_argument("samples: samples of 1 cycle or more are expected, and more of them than warm up");
    }
    if (!(options.unstable_cycles > 0.0)) {
        throw std::invalid_argument("unstable_cycles: more than 0 is expected");
    }
    noc::check(settings);
}

}  // namespace

LoadPoint measure(const Settings& settings, const LoadOptions& options, double rate) {
    check(settings, options, rate);
    return OpenLoop(settings, options, rate).run();
}

double zero_load_latency(const Settings& settings, const LoadOptions& options) {
    class Nobody final : public Observer {
        void arrived(const Packet&) override {}
    } nobody;
    const Simulator simulator(settings, nobody);
    const u32 nodes = simulator.shape().nodes();
    const Traffic traffic(options.traffic, simulator.shape(), options.hotspot, settings.seed);
    double sum = 0.0;
    for (u32 source = 0; source < nodes; ++source) {
        if (!traffic.destinations().empty()) {
            sum += static_cast<double>(
                simulator.alone_cycles(source, traffic.destinations()[source], settings.packet_flits));
            continue;
        }
        for (u32 to = 0; to < nodes; ++to) {
            sum += static_cast<double>(simulator.alone_cycles(source, to, settings.packet_flits)) / nodes;
        }
    }
    return sum / nodes;
}

Saturation saturation(const Settings& settings, const LoadOptions& options, double within) {
    if (!(within > 0.0 && within < 1.0)) {
        throw std::invalid_argument("within: a load between 0 and 1 flit a node and cycle is expected");
    }
    if (measure(settings, options, 1.0).is_stable) {
        return {1.0, 1.0};
    }
    Saturation found{0.0, 1.0};
    while (found.unstable - found.stable > within) {
        const double middle = (found.stable + found.unstable) / 2.0;
        (measure(settings, options, middle).is_stable ? found.stable : found.unstable) = middle;
    }
    return found;
}

}  // namespace yantra::noc
