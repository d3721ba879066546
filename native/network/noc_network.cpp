// Network on chip: a run's messages as flits (network/noc/simulator.hpp), one event for each active
// cycle. A cycle is a flit's time on a link; its latency is the channel's, in whole cycles.
// Trade-off: for hundreds of ranks and megabytes each.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ensure.hpp"
#include "base/pool.hpp"
#include "base/unsupported.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "network/level.hpp"
#include "network/network.hpp"
#include "network/noc/router.hpp"
#include "network/noc/routing.hpp"
#include "network/noc/simulator.hpp"
#include "network/noc_probe.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

bool is_line(const BlockTable& table) {
    if (table.switches() != 0 || table.links() != 2 * (table.ranks() - 1)) {
        return false;
    }
    for (u32 link = 0; link < table.links(); ++link) {
        const u32 low = std::min(table.from(link), table.to(link));
        if (std::max(table.from(link), table.to(link)) != low + 1) {
            return false;
        }
    }
    return true;
}

struct Chip {
    noc::Settings settings;
    std::vector<u32> dimension;   // of the grid, by the chip's: those of one rank are left out
    double flit_bytes = 0.0;
    double cycle_ns = 0.0;
};

void add_dimension(Chip& chip, const Grid& grid, u32 d) {
    const Dimension& dimension = grid.dimension(d);
    const bool is_ring = dimension.block == Block::ring;
    const std::string where = "dimension " + std::to_string(d);
    if (!is_ring && (grid.table(d) == nullptr || !is_line(*grid.table(d)))) {
        throw std::invalid_argument(where + " is neither a ring nor a mesh, which are all that a chip has");
    }
    const double cycle_ns = chip.flit_bytes / dimension.bytes_per_ns;
    if (chip.cycle_ns != 0.0 && cycle_ns != chip.cycle_ns) {
        throw std::invalid_argument(where + " has another bandwidth than those before it, but a chip has one clock: a flit "
                                            "is on a link for a cycle; give all the same");
    }
    if (!(cycle_ns > 0.0) || !std::isfinite(cycle_ns)) {
        throw std::invalid_argument(where + " has a bandwidth without limit, of which no cycle follows");
    }
    chip.cycle_ns = cycle_ns;
    const double cycles = std::ceil(dimension.latency_ns / cycle_ns - 1e-9);
    // Two stages, the channel, and the credit's way.
    const double round_trip = 3 + 2 * std::max(cycles, 1.0);
    const u64 slots = u64{chip.settings.vcs} * chip.settings.buffer_flits;
    if (round_trip > static_cast<double>(slots)) {
        throw std::invalid_argument(
            where + " has links of " + std::to_string(static_cast<u64>(cycles)) + " cycles, and buffers of " +
            std::to_string(slots) + " flits, which a link at full rate fills before the first credit is back; take a "
            "buffer_flits of " + std::to_string(static_cast<u64>(std::ceil(round_trip / chip.settings.vcs))) +
            " or more, or a larger flit, or another network for links as long as these");
    }
    chip.settings.dimensions.push_back({dimension.size, is_ring, static_cast<u32>(std::max(cycles, 1.0))});
    chip.dimension.push_back(d);
}

Chip chip_of(const NetworkChoice& choice, const Grid& grid) {
    const auto at = [&choice](const char* name, double fallback) {
        const double value = choice.option(name, fallback);
        if (!(value >= 0.0 && value <= 1e9) || value != std::floor(value)) {
            throw std::invalid_argument(std::string(name) + ": a whole number is expected, not " + std::to_string(value));
        }
        return static_cast<u32>(value);
    };
    Chip chip;
    chip.flit_bytes = at("flit", 16);
    chip.settings.packet_flits = at("packet_flits", 4);
    chip.settings.vcs = at("vcs", 4);
    chip.settings.buffer_flits = at("buffer_flits", 8);
    chip.settings.router = noc::routers()[at("router", 0)].name;
    chip.settings.routing = noc::routings()[at("routing", 0)].name;
    chip.settings.seed = at("seed", 1);
    for (u32 d = 0; d < grid.dimensions(); ++d) {
        if (grid.dimension(d).size > 1) {
            add_dimension(chip, grid, d);
        }
    }
    return chip;
}

class NocNetwork final : public NetworkModel, private noc::Observer {
public:
    explicit NocNetwork(const NetworkSetup& setup)
        : chip_(chip_of(setup.parameters.choice, setup.grid)),
          grid_(setup.grid),
          scale_(setup.semantics.scale),
          queue_(setup.engine.queue),
          probe_(setup.engine.recorder()),
          simulator_(chip_.settings, *this) {
        const noc::Shape& shape = simulator_.shape();
        const u32 links = shape.routers() * shape.first_local();
        probe_.keeps(links, grid_.dimensions(), [this](u32 link) { return dimension_of(link); });
        if (NocProbe::notes_crossings) {
            simulator_.channels().crossings().keep();
        }
    }

    void send(const Message& message, Notice arrived, Notice departed) override {
        ensure(message.src != message.dst, "a message to its own sender");
        if (simulator_.is_idle()) {
            simulator_.idle_until(std::max(cycle_of(queue_.now()), simulator_.now()));
        }
        const u64 flits = flits_of(message.bytes);
        const u32 number = transits_.take_as_left();
        transits_[number] = {arrived, departed, flits};
        probe_.sent(number);
        probe_.takes(tick_of(simulator_.alone_cycles(message.src.index(), message.dst.index(), 1)));
        simulator_.send(message.src.index(), message.dst.index(), flits, number, simulator_.now());
        wake();
    }

    void handle(const Event& event) override {
        if (event.index != wake_number_) {
            return;
        }
        wake_at_ = never_wakes;
        while (!simulator_.is_idle() && tick_of(simulator_.now()) <= queue_.now()) {
            simulator_.step();
            note_crossings();
        }
        wake();
    }

    std::vector<LinkRecord> links() const override {
        std::vector<LinkRecord> records;
        each_link([&](u32 d, u32 from, u32 to, const LinkUse& use) { records.push_back({d, from, to, use}); });
        return records;
    }
    std::vector<LinkUse> dimensions() const override {
        std::vector<LinkUse> sums(grid_.dimensions());
        each_link([&](u32 d, u32, u32, const LinkUse& use) {
            sums[d].bytes += use.bytes;
            sums[d].messages += use.messages;
            sums[d].busy_ticks += use.busy_ticks;
        });
        return sums;
    }
    NetworkReport report() override {
        NetworkReport found;
        found.busiest.resize(grid_.dimensions());
        each_link([&](u32 d, u32, u32, const LinkUse& use) {
            found.busiest[d] = std::max(found.busiest[d], use.busy_ticks);
        });
        return found;
    }

private:
    static constexpr u64 never_wakes = ~u64{0};

    struct Transit {
        Notice arrived;
        Notice departed;
        u64 flits_left = 0;
    };

    u64 flits_of(u64 bytes) const {
        const auto flit = static_cast<u64>(chip_.flit_bytes);
        return std::max<u64>(bytes / flit + (bytes % flit > 0 ? 1 : 0), 1);
    }

    u64 tick_of(u64 cycle) const { return scale_.ticks(static_cast<double>(cycle) * chip_.cycle_ns); }
    u64 cycle_of(u64 tick) const {
        const double ns = static_cast<double>(tick) / static_cast<double>(scale_.ticks_per_ns());
        auto cycle = static_cast<u64>(ns / chip_.cycle_ns);
        cycle -= std::min<u64>(cycle, 1);
        while (tick_of(cycle) < tick) {
            ++cycle;
        }
        return cycle;
    }

    void wake() {
        if (simulator_.is_idle()) {
            return;
        }
        const u64 next = std::max(tick_of(simulator_.now()), queue_.now());
        if (next < wake_at_) {
            wake_at_ = next;
            queue_.schedule(next, {Owner::network, 0u}, ++wake_number_);
        }
    }

    void arrived(const noc::Packet& packet) override {
        Transit& transit = transits_[packet.tag];
        transit.flits_left -= packet.flits;
        if (transit.flits_left > 0) {
            return;
        }
        probe_.over(packet.tag);
        probe_.arrives(packet.tag);
        queue_.schedule(queue_.now(), transit.arrived);
        probe_.arrival_scheduled();
        transits_.give_back(packet.tag);
    }

    void departed(u32 tag) override {
        if (!transits_[tag].departed.kind.is_none()) {
            queue_.schedule(queue_.now(), transits_[tag].departed);
        }
    }

    // Numbered by dimension, then router, then up before down.
    u32 link_of(u32 router, u32 port) const { return port / 2 * 2 * simulator_.shape().routers() + 2 * router + port % 2; }
    u32 dimension_of(u32 link) const { return chip_.dimension[link / (2 * simulator_.shape().routers())]; }

    void note_crossings() {
        if (!NocProbe::notes_crossings) {
            return;
        }
        const noc::Layout& layout = simulator_.channels().layout();
        for (const noc::Crossing& crossing : simulator_.channels().crossings().kept()) {
            const u32 router = layout.router_of(crossing.port).index();
            probe_.crossed(crossing.tag, link_of(router, layout.within_router(crossing.port)),
                           tick_of(crossing.first), tick_of(crossing.last + 1),
                           u64{crossing.flits} * static_cast<u64>(chip_.flit_bytes));
        }
        simulator_.channels().crossings().kept().clear();
    }

    template <class Use>
    void each_link(Use&& use) const {
        const noc::Layout& layout = simulator_.channels().layout();
        const noc::Crossings& crossings = simulator_.channels().crossings();
        const noc::Shape& shape = simulator_.shape();
        for (u32 link = 0; link < shape.routers() * shape.first_local(); ++link) {
            const u32 router = link % (2 * shape.routers()) / 2;
            const u32 port = link / (2 * shape.routers()) * 2 + link % 2;
            const noc::PortId index = layout.port(noc::RouterId(router), port);
            const u64 flits = crossings.flits(index);
            if (flits > 0) {
                use(dimension_of(link), router, shape.neighbour(router, port),
                    LinkUse{flits * static_cast<u64>(chip_.flit_bytes), crossings.packets(index),
                            tick_of(flits)});
            }
        }
    }

    const Chip chip_;
    const Grid& grid_;
    const TimeScale scale_;
    EventQueue& queue_;
    NocProbe probe_;
    noc::Simulator simulator_;
    Pool<Transit> transits_;
    u64 wake_at_ = never_wakes;
    u32 wake_number_ = 0;
};

template <class List>
std::vector<std::string> names_of_kinds(const List& all) {
    std::vector<std::string> names;
    for (const auto& one : all) {
        names.push_back(one.name);
    }
    return names;
}

double place_of(const std::vector<std::string>& names, const char* name) {
    return static_cast<double>(std::find(names.begin(), names.end(), name) - names.begin());
}

std::vector<NetworkOption> noc_network_options() {
    const std::vector<std::string> routers = names_of_kinds(noc::routers());
    const std::vector<std::string> routings = names_of_kinds(noc::routings());
    return {
        {"flit", "B", 16.0, 1.0, "that a link carries in a cycle, so a cycle is this over its bandwidth"},
        {"packet_flits", "", 4.0, 1.0, "of the longest packet; a message is cut into such"},
        {"vcs", "", 4.0, 1.0, "virtual channels of each port"},
        {"buffer_flits", "", 8.0, 1.0, "that a virtual channel holds"},
        {"router", "", place_of(routers, "input_queued"), 0.0, "of four stages, or of one", routers},
        {"routing", "", place_of(routings, "xy"), 0.0, "which ways packets go", routings},
        {"seed", "", 1.0, 0.0, "of directions that are drawn, where both ways round a ring are as long"},
    };
}

const RegisteredNetwork registered_noc({
    .name = "noc",
    .help = "flits over the routers of a chip or a wafer, with virtual channels and credits",
    .make = [](const NetworkSetup& setup) -> std::unique_ptr<NetworkModel> {
        try {
            return std::make_unique<NocNetwork>(setup);
        } catch (const std::invalid_argument& refused) {
            throw Unsupported(std::string("network noc: ") + refused.what());
        }
    },
    .traits = {NetworkTrait::charges_latency, NetworkTrait::has_links, NetworkTrait::has_headers,
               NetworkTrait::on_chip},
    .detail = 5,
    .later_options = &noc_network_options,
});

}  // namespace

}  // namespace yantra
