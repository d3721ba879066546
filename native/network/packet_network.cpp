// Packet network: every message of a run as packets over the fabric, under a congestion control.
//
// The simulator of network/packet/simulator.hpp beside the engine of the run: an event of the engine for each tick
// at which something happens to a packet. A message is a queue pair of its own; it has arrived when the receiver has its
// last byte, and has left when the sender has the last ACK. Trade-off: two events a packet and hop, so it is for one
// step of some dozens of ranks, or one collective of a thousand.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/pool.hpp"
#include "base/unsupported.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "network/level.hpp"
#include "network/network.hpp"
#include "network/packet/fabric_spec.hpp"
#include "network/packet/options.hpp"
#include "network/packet/presets.hpp"
#include "network/packet/simulator.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

constexpr u64 look_every = u64{1} << 20;   // events between two looks for a run that cannot end

// Options of the network itself; all others are changes of a preset (network/packet/options.hpp).
constexpr std::array<std::string_view, 9> own_options = {"preset", "congestion_control", "window", "payload", "buffer",
                                                         "semantics", "seed", "look", "look_every"};

bool is_own(const std::string& name) {
    return std::find(own_options.begin(), own_options.end(), name) != own_options.end();
}

// An option whose values have names.
bool is_choice(const std::string& name) {
    const std::vector<packet::SchemeOption>& all = packet::network_options();
    return std::any_of(all.begin(), all.end(),
                       [&name](const auto& option) { return option.name == name && !option.choices.empty(); });
}

// Option 0 of `preset` and `congestion_control` leaves it to the other.
packet::Settings settings_of(const std::map<std::string, double>& options, double host_gbps) {
    const auto number = [&options](const char* name) {
        const auto found = options.find(name);
        return found == options.end() ? 0.0 : found->second;
    };
    const auto at = [&number](const char* name) { return static_cast<std::size_t>(number(name)); };
    const std::size_t scheme = at("congestion_control");
    const std::string name = scheme == 0 ? "" : packet::schemes()[scheme - 1].name;
    const std::size_t preset = at("preset");
    const std::string of_preset = preset > 0       ? packet::presets()[preset - 1].name
                                  : scheme > 0 ? packet::preset_of(name)
                                               : "static_window";
    std::map<std::string, double> changed;
    for (const auto& [option, value] : options) {
        if (is_own(option)) {
            continue;
        }
        if (!is_choice(option)) {
            changed[option] = value;
        } else if (value > 0.0) {   // 0 leaves it to the preset
            changed[option] = value - 1.0;
        }
    }
    for (const char* option : {"payload", "buffer"}) {
        if (number(option) > 0.0) {
            changed[option] = number(option);
        }
    }
    if (at("window") > 0) {
        changed["window"] = static_cast<double>(at("window") - 1);
    }
    packet::Settings made = packet::settings_of(of_preset, host_gbps, name, changed);
    made.quirks = at("semantics") == 1 ? packet::all_quirks : 0;
    made.seed = at("seed");
    made.look = static_cast<packet::Look>(at("look"));
    made.look_every_ns = number("look_every");
    return made;
}

packet::Settings packet_settings(const Model& model) {
    ensure(model.fabric != nullptr, "a packet network without a fabric");
    double host_gbps = 100.0;
    for (u32 link = 0; link < model.fabric->links(); ++link) {
        if (model.fabric->from(link) < model.fabric->ranks()) {
            host_gbps = std::min(model.fabric->bytes_per_ns(link) * 8.0, 1e6);
            break;
        }
    }
    return settings_of(model.network.options, host_gbps);
}

class PacketNetwork final : public NetworkModel, private packet::Observer {
public:
    PacketNetwork(const Model& model, const Grid& grid, Engine& engine)
        : settings_(with_crossings(packet_settings(model))),
          graph_(*model.fabric),
          ways_(model, grid),
          queue_(engine.queue),
          probe_(engine.recorder()),
          simulator_(packet::spec_of(graph_, settings_), settings_, *this),
          is_late_(settings_.has(packet::Quirk::late_receiver)),
          own_(settings_.ticks_per_ns()),
          theirs_(model.scale.ticks_per_ns()) {
        if (ways_.by_packet()) {
            simulator_.add_ways({});   // refuses, with the reason, what cannot be sprayed
        }
        probe_.keeps(ways_.links(), ways_.groups(), [this](u32 link) { return ways_.group(link); });
    }

    void send(const Message& message, Notice arrived, Notice departed) override {
        catch_up();
        const u32 number = transits_.take_as_left();
        transits_[number] = {arrived, departed, queue_.now(), message.bytes};
        const Routes& routes = routes_of(ways_.place(message.src), ways_.place(message.dst));
        probe_.sent(number);
        probe_.takes(theirs(simulator_.latency(routes.data)));
        const u64 now = (queue_.now() * own_ + theirs_ - 1) / theirs_;
        simulator_.send({number, std::max<u64>(message.bytes, 1), routes.data, routes.acks, routes.first_way, routes.ways,
                         message.src.index(), message.dst.index()},
                        std::max(now, simulator_.now()));
        ++under_way_;
        wake();
    }

    void handle(const Event& event) override {
        if (event.index != wake_number_) {
            return;
        }
        wake_at_ = never_wakes;
        while (!simulator_.empty() && theirs(simulator_.next_time()) <= queue_.now()) {
            simulator_.step();
            if ((++since_look_ & (look_every - 1)) == 0) {
                look();
            }
        }
        wake();
    }

    std::vector<LinkRecord> links() const override { return ways_.records(use()); }
    std::vector<LinkUse> dimensions() const override { return ways_.uses(use()); }
    std::vector<u64> busiest() const override { return ways_.busiest(use()); }
    std::shared_ptr<const packet::Seen> packets() override {
        end_spans();
        return simulator_.seen();
    }

private:
    static constexpr u64 never_wakes = ~u64{0};

    struct OpenSpan {
        u32 message = none;   // of the recording
        u64 start = 0;
        u64 end = 0;
        u64 bytes = 0;
    };

    struct Routes {
        u32 data = 0;
        u32 acks = 0;
        u32 first_way = 0;
        u32 ways = 0;
    };

    struct Transit {
        Notice arrived;
        Notice departed;
        u64 sent = 0;
        u64 bytes = 0;
    };

    u64 theirs(u64 own) const { return (own * theirs_ + own_ - 1) / own_; }

    static packet::Settings with_crossings(packet::Settings settings) {
        settings.tells_crossings = WaysProbe::keeps_spans;
        return settings;
    }

    // Packets of a message behind each other are one span of it.
    void crosses(u32 number, u32 link, u64 start, u64 end, u32 payload) override {
        if constexpr (WaysProbe::keeps_spans) {
            open_.resize(simulator_.ports().size());
            OpenSpan& open = open_[link];
            const u32 message = probe_.recorded(number);
            if (open.message != message || open.end != start) {
                end_span(link);
                open = {message, start, end, 0};
            }
            open.end = end;
            open.bytes += payload;
        }
    }

    void end_span(u32 link) {
        OpenSpan& open = open_[link];
        if (open.bytes > 0) {
            probe_.span({theirs(open.start), theirs(open.end), open.bytes, link, open.message});
            open = {};
        }
    }

    // A link that only ACKs crossed has a span of no bytes, so that rows of links are those of records.
    void end_spans() {
        if constexpr (WaysProbe::keeps_spans) {
            open_.resize(simulator_.ports().size());
            for (u32 link = 0; link < open_.size(); ++link) {
                end_span(link);
                const packet::Port& port = simulator_.ports()[link];
                if (port.packets > 0 && port.payload_bytes == 0) {
                    probe_.span({0, 0, 0, link, none});
                }
            }
        }
    }

    // What was left when nothing was under way: timers, and the last packets.
    void catch_up() {
        while (under_way_ == 0 && !simulator_.empty() && theirs(simulator_.next_time()) < queue_.now()) {
            simulator_.step();
        }
    }

    void wake() {
        if (under_way_ == 0) {
            return;
        }
        if (simulator_.empty()) {
            look();
            fail("a packet network with flows under way and nothing to do");
        }
        const u64 next = std::max(theirs(simulator_.next_time()), queue_.now());
        if (next < wake_at_) {
            wake_at_ = next;
            queue_.schedule(next, {Owner::network, 0u}, ++wake_number_);
        }
    }

    const Routes& routes_of(u32 from, u32 to) {
        const u64 pair = u64{from} << 32U | to;
        const auto known = routes_.find(pair);
        if (known != routes_.end()) {
            return known->second;
        }
        Routes made;
        ways_.route(to, from, 0, nullptr, path_);
        made.acks = simulator_.add_route(path_);
        ways_.route(from, to, 0, nullptr, path_);
        made.data = simulator_.add_route(path_);
        if (ways_.by_packet()) {
            spray(from, to, made);
        }
        return routes_[pair] = made;
    }

    // The ways that so many packets take, each once; those that leave by another port than the first are left out.
    void spray(u32 from, u32 to, Routes& made) {
        std::map<std::vector<u32>, u32> found = {{path_, made.data}};
        std::vector<u32> routes = {made.data};
        const u32 port = path_[0];
        for (u32 packet = 1; packet < settings_.entropies; ++packet) {
            ways_.route(from, to, packet, nullptr, path_);
            if (path_[0] == port && found.emplace(path_, 0).second) {
                routes.push_back(simulator_.add_route(path_));
            }
        }
        made.first_way = simulator_.add_ways(routes);
        made.ways = static_cast<u32>(routes.size());
    }

    void received(u32 number) override {
        if (!is_late_) {
            arrive(number);
        }
    }

    void arrive(u32 number) {
        probe_.arrives(number);
        queue_.schedule(queue_.now(), transits_[number].arrived);
        probe_.arrival_scheduled();
    }

    void completed(u32 number) override {
        const Transit& transit = transits_[number];
        if (!transit.departed.kind.is_none()) {
            queue_.schedule(queue_.now(), transit.departed);
        }
        if (is_late_) {   // the receiver hears after the sender, of the same ACK
            arrive(number);
        }
        transits_.give_back(number);
        --under_way_;
    }

    std::vector<LinkUse> use() const {
        std::vector<LinkUse> found;
        for (const packet::Port& port : simulator_.ports()) {
            found.push_back({port.payload_bytes, port.packets, theirs(port.busy_ticks)});
        }
        return found;
    }

    // Unsupported, with the reason, if flows cannot end.
    void look() const {
        const std::optional<packet::Stuck> stuck = simulator_.stuck();
        if (!stuck) {
            return;
        }
        std::string what = "packets stand still with " + std::to_string(stuck->flows) + " messages under way: ";
        if (!stuck->cycle.empty()) {
            what += "a PFC deadlock, in which each of these is paused by the next and the last by the first:";
            for (u32 link : stuck->cycle) {
                what.append(" ").append(graph_.link_name(link)).append(",");
            }
            what += " so take a routing without circles (up_down), or larger buffers";
        } else if (stuck->drops > 0) {
            what += "a livelock, " + std::to_string(stuck->drops) + " packets dropped without progress, most behind " +
                    graph_.link_name(stuck->dropped_on) + "; take larger buffers or a window";
        } else {
            what += "a loss that nobody notices; take network.semantics yantra, which has a timer";
        }
        throw Unsupported(what);
    }

    const packet::Settings settings_;
    const FabricGraph& graph_;
    Ways ways_;
    EventQueue& queue_;
    WaysProbe probe_;
    packet::Simulator simulator_;
    const bool is_late_;  // the quirk late_receiver
    const u64 own_;       // ticks of the simulator per ns
    const u64 theirs_;    // and of the engine
    Pool<Transit> transits_;
    std::unordered_map<u64, Routes> routes_;   // by ends
    std::vector<OpenSpan> open_;   // by link, of a recorded run
    std::vector<u32> path_;
    u64 under_way_ = 0;
    u64 since_look_ = 0;
    u64 wake_at_ = never_wakes;
    u32 wake_number_ = 0;
};

template <class List>
std::vector<std::string> choices_of(const List& all, std::string first) {
    std::vector<std::string> names = {std::move(first)};
    for (const auto& one : all) {
        names.push_back(one.name);
    }
    return names;
}

std::vector<NetworkOption> own_network_options() {
    return {
        {"preset", "", 0.0, 0.0, "a congestion control and all that goes with it",
         choices_of(packet::presets(), "of_congestion_control")},
        {"congestion_control", "", 0.0, 0.0, "by itself, or in place of the preset's",
         choices_of(packet::schemes(), "of_preset")},
        {"window", "", 0.0, 0.0, "what a message may have under way",
         {"of_preset", "unlimited", "static", "variable"}},
        {"payload", "B", 0.0, 0.0, "of a full packet; 0: 1,000"},
        {"buffer", "B", 0.0, 0.0, "of a switch; 0: as the preset says"},
        {"semantics", "", 0.0, 0.0, "what one would want, or what the ns-3 fork does", {"yantra", "ns3_fork"}},
        {"seed", "", 0.0, 0.0, "of marks that are drawn"},
        {"look", "", 1.0, 0.0, "what is kept of queues, pauses, marks and rates over time, and of each message",
         {"nothing", "samples", "changes"}},
        {"look_every", "ns", 0.0, 0.0, "between samples; 0: 100 ns, and more where they become many"},
    };
}

// What a preset says unless it is given: an option of the network, or of some congestion controls.
NetworkOption change_of(const packet::SchemeOption& option, const std::string& of) {
    constexpr double not_given = std::numeric_limits<double>::quiet_NaN();
    std::string help = option.help.substr(0, option.help.find_last_not_of('.') + 1);
    help[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(help[0])));
    std::vector<std::string> choices = option.choices;
    if (!choices.empty()) {
        choices.insert(choices.begin(), "of_preset");
        return {option.name, "", 0.0, 0.0, of.empty() ? help : of + ": " + help, choices};
    }
    const bool by_rate = option.name == "kmin" || option.name == "kmax" || option.name == "pmax";
    return {option.name, option.unit, not_given, option.least, of.empty() ? help : of + ": " + help, {}, by_rate};
}

// Asked for when all schemes are registered. Options of one name have one unit, whatever the scheme.
std::vector<NetworkOption> packet_network_options() {
    std::vector<NetworkOption> made = own_network_options();
    for (const packet::SchemeOption& option : packet::network_options()) {
        if (!is_own(option.name)) {
            made.push_back(change_of(option, ""));
        }
    }
    std::vector<std::string> names;
    std::map<std::string, std::pair<std::string, packet::SchemeOption>> of_schemes;
    for (const packet::Scheme& scheme : packet::schemes()) {
        for (const packet::SchemeOption& option : scheme.options) {
            auto [at, is_new] = of_schemes.try_emplace(option.name, scheme.name, option);
            if (is_new) {
                names.push_back(option.name);
                continue;
            }
            ensure(at->second.second.unit == option.unit, "two options of congestion controls of one name and two units");
            at->second.first += ", " + scheme.name;
            at->second.second.least = std::min(at->second.second.least, option.least);
        }
    }
    for (const std::string& name : names) {
        made.push_back(change_of(of_schemes[name].second, of_schemes[name].first));
    }
    for (const packet::Discipline& discipline : packet::disciplines()) {
        for (const packet::SchemeOption& option : discipline.options) {
            made.push_back(change_of(option, discipline.name));
        }
    }
    return made;
}

const RegisteredNetwork registered_packet({
    .name = "packet",
    .help = "packets over switches with shared buffers, with pauses, marks and a congestion control",
    .make = [](const Model& model, const Grid& grid, Engine& engine) -> std::unique_ptr<NetworkModel> {
        try {
            return std::make_unique<PacketNetwork>(model, grid, engine);
        } catch (const std::invalid_argument& refused) {
            throw Unsupported(std::string("network packet: ") + refused.what());
        }
    },
    .detail = 4,
    .has_links = true,
    .on_fabric = true,
    .has_headers = true,
    .needs_fabric = true,
    .later_options = &packet_network_options,
    .check = [](const std::map<std::string, double>& options) {
        packet::check_scheme(settings_of(options, 100.0));
    },
});

}  // namespace

}  // namespace yantra
