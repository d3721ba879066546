// Ideal network: bytes over the narrowest bandwidth, times `speedup`; links are not shared: the
// bound for what-if.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/ensure.hpp"
#include "network/crossed.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

class IdealNetwork final : public NetworkModel, public KnownTimes, public RecurringState {
public:
    IdealNetwork(const Grid& grid, TimeScale scale, Engine& engine, double speedup)
        : grid_(grid), scale_(scale), queue_(engine.queue), speedup_(speedup), use_(grid.dimensions()) {}

    void send(const Message& message, Notice arrived, Notice departed) override {
        if (!departed.kind.is_none()) {
            const u32 first = grid_.lowest_difference(message.src.index(), message.dst.index());
            queue_.schedule(queue_.now() + ticks(message, grid_.dimension(first).bytes_per_ns), departed);
        }
        queue_.schedule(queue_.now() + alone(message, message.ranks, use_), arrived);
    }
    NetworkCapabilities capabilities() override { return {.known_times = this, .recurring_state = this}; }

    u64 alone(const Message& message, u64 times, std::vector<LinkUse>& use) const override {
        use.resize(grid_.dimensions());
        double bytes_per_ns = std::numeric_limits<double>::infinity();
        for_each_crossed(grid_, message, [&](u32 d, u32, u32) {
            bytes_per_ns = std::min(bytes_per_ns, grid_.dimension(d).bytes_per_ns);
            count(use[d], message.bytes, times);
        });
        return ticks(message, bytes_per_ns);
    }

    std::vector<LinkUse> what_repeats() const override { return use_; }
    void repeat(const std::vector<LinkUse>& before, u64 times) override {
        repeat_use(use_, before, times);
    }

    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override { return use_; }

private:
    u64 ticks(const Message& message, double bytes_per_ns) const {
        return scale_.ticks(static_cast<double>(message.bytes) / (bytes_per_ns * speedup_));
    }

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    double speedup_;
    std::vector<LinkUse> use_;
};

const RegisteredNetwork registered_ideal({
    .name = "ideal",
    .help = "bytes over the narrowest bandwidth alone: no latency, no contention",
    .make = [](const NetworkSetup& setup) -> std::unique_ptr<NetworkModel> {
        return std::make_unique<IdealNetwork>(setup.grid, setup.semantics.scale, setup.engine,
                                              setup.parameters.choice.option("speedup", 1.0));
    },
    .folding = NetworkFolding::messages_never_wait,
    .options = {{"speedup", "", 1.0, 1.0, "times the bandwidth of every link"}},
});

}  // namespace

}  // namespace yantra
