#include "network/packet/apart.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/disjoint_sets.hpp"
#include "network/packet/packets.hpp"
#include "network/packet/partition.hpp"

namespace yantra::packet {

namespace {

constexpr u32 most_rounds = 6;
constexpr u64 unlimited_buffer = u64{1} << 40;
constexpr u64 times_of_alpha = 8;   // a port may hold an eighth of what is left, at least

class Nobody final : public Observer {
public:
    void received(u32 /*flow*/) override {}
    void completed(u32 /*flow*/) override {}
};

}  // namespace

// A component in a fabric of its links.
class Apart::Alone final : Observer {
public:
    Alone(const Apart& all, const Component& of)
        : settings_(with_room(all.settings_)), simulator_(fabric_of(all, of), settings_, *this) {
        const auto named = [&of](std::span<const u32> links) {
            std::vector<u32> found;
            for (u32 link : links) {
                found.push_back(place_in(of.links, link));
            }
            return found;
        };
        known_.received.resize(of.flows.size());
        known_.completed.resize(of.flows.size());
        const u64 start = all.flows_[of.flows.front()].start;
        for (u32 at = 0; at < of.flows.size(); ++at) {
            const ListedFlow& flow = all.flows_[of.flows[at]];
            FlowSpec sent{at, flow.bytes, simulator_.add_route(named(flow.data)), simulator_.add_route(named(flow.acks))};
            sent.serial = at + 1;
            simulator_.send(sent, flow.start - std::min(start, flow.start));
        }
    }

    // How many are left of `events`.
    u64 run(u64 events) {
        for (; events > 0 && !simulator_.empty(); --events) {
            simulator_.step();
        }
        return events;
    }
    bool is_over() const { return simulator_.empty(); }
    // Empty, or why it cannot stand for itself.
    std::string refused() {
        const auto never = [](u64 tick) { return tick == 0; };
        return simulator_.state().chances() > 0 ? "marks were drawn"
               : simulator_.totals().drops > 0   ? "a packet was dropped, and then all senders watch for silence"
               : std::any_of(known_.completed.begin(), known_.completed.end(), never) ? "a flow does not end alone"
                                                                                      : "";
    }
    Known known() {
        for (const Port& port : simulator_.ports()) {
            known_.ports.push_back(count_of(port, simulator_.now()));
        }
        known_.totals = simulator_.totals();
        known_.events = simulator_.events();
        return std::move(known_);
    }

    static u32 place_in(const std::vector<u32>& sorted, u32 one) {
        return static_cast<u32>(std::lower_bound(sorted.begin(), sorted.end(), one) - sorted.begin());
    }
    static std::vector<u32> devices_of(const Apart& all, const Component& of) {
        std::vector<u32> devices;
        for (u32 link : of.links) {
            devices.push_back(all.fabric_.links[link].from);
        }
        std::sort(devices.begin(), devices.end());
        devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
        return devices;
    }

private:
    static Settings with_room(Settings settings) {
        settings.buffer_bytes = unlimited_buffer;
        return settings;
    }
    static FabricSpec fabric_of(const Apart& all, const Component& of) {
        FabricSpec made;
        const std::vector<u32> devices = devices_of(all, of);
        for (u32 device : devices) {
            made.is_host.push_back(all.fabric_.is_host[device]);
        }
        for (u32 link : of.links) {
            LinkSpec spec = all.fabric_.links[link];
            spec.from = place_in(devices, spec.from);
            spec.to = place_in(devices, spec.to);
            spec.twin = place_in(of.links, spec.twin);
            made.links.push_back(spec);
        }
        return made;
    }

    void received(u32 flow) override { known_.received[flow] = simulator_.now(); }
    void completed(u32 flow) override { known_.completed[flow] = simulator_.now(); }

    const Settings settings_;
    Simulator simulator_;
    Known known_;
};

std::string Apart::refusal(const Settings& settings) {
    if (settings.skip == Skip::never) {
        return "skip is off";
    }
    const std::string alone = why_one_thread(settings);
    if (!alone.empty()) {
        return alone;
    }
    if (settings.queue != "fifo") {
        return "the queue " + settings.queue + " keeps turns";
    }
    if (settings.one_window) {
        return "one_window depends on all flows";
    }
    return scheme_named(settings.congestion_control).telemetry == TelemetryKind::power
               ? settings.congestion_control + " keeps something in ports"
               : "";
}

Apart::Apart(const FabricSpec& fabric, const Settings& settings, std::vector<ListedFlow> flows)
    : fabric_(fabric), settings_(settings), flows_(std::move(flows)), completed_(flows_.size()) {
    for (const ListedFlow& flow : flows_) {
        for (std::span<const u32> way : {flow.data, flow.acks}) {
            for (std::size_t at = 0; at < way.size(); ++at) {
                if (fabric_.links[way[at]].twin == none || (at > 0 && fabric_.is_host[fabric_.links[way[at]].from])) {
                    refused_ = "hosts pass packets on, or a link has none back";
                }
            }
            if (way.size() > 6) {
                refused_ = "ways of more than six links have longer headers";
            }
        }
    }
    if (refused_.empty()) {
        estimate();
        divide();
        if (!pays()) {
            refused_ = "few components are alike";
        }
    }
}

Apart::~Apart() = default;

// Each flow as if it were alone, which is exact for one that is over equal links.
void Apart::estimate() {
    const Transmission transmission(settings_.ticks_per_ns());
    const u64 payload = settings_.payload_bytes;
    for (std::size_t at = 0; at < flows_.size(); ++at) {
        const ListedFlow& flow = flows_[at];
        const u64 first = std::min(flow.bytes, payload) + plain_header;
        const u64 rest = flow.bytes - std::min(flow.bytes, payload);
        u64 ticks = 0;
        u64 narrowest = ~u64{0};
        for (u32 link : flow.data) {
            const LinkSpec& of = fabric_.links[link];
            ticks += of.delay + transmission.ticks(first, of.bits_per_s);
            narrowest = std::min(narrowest, of.bits_per_s);
        }
        for (u32 link : flow.acks) {
            ticks += fabric_.links[link].delay + transmission.ticks(pause_bytes, fabric_.links[link].bits_per_s);
        }
        completed_[at] = flow.start + ticks + transmission.ticks(rest + rest / payload * plain_header, narrowest);
    }
}

// By flow, one of those of its component by the present times. `order`: of starts.
std::vector<u32> Apart::tops(const std::vector<u32>& order) const {
    DisjointSets joined(static_cast<u32>(flows_.size()));
    std::vector<std::pair<u64, u32>> last(fabric_.links.size(), {0, none});   // end and flow, by pair of links
    for (u32 flow : order) {
        for (std::span<const u32> way : {flows_[flow].data, flows_[flow].acks}) {
            for (u32 link : way) {
                auto& [end, before] = last[pair_of(link)];
                if (before != none && flows_[flow].start <= end) {
                    joined.join(flow, before);
                }
                if (before == none || completed_[flow] >= end) {
                    end = completed_[flow];
                    before = flow;
                }
            }
        }
    }
    std::vector<u32> found;
    for (u32 flow = 0; flow < flows_.size(); ++flow) {
        found.push_back(joined.of(flow));
    }
    return found;
}

// Components by the present times. False: all are as before.
bool Apart::divide() {
    std::vector<u32> order(flows_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [this](u32 one, u32 other) {
        return flows_[one].start < flows_[other].start;
    });
    const std::vector<u32> top = tops(order);
    std::vector<std::vector<u32>> of_top(flows_.size());
    for (u32 flow : order) {   // by start, and then as listed
        of_top[top[flow]].push_back(flow);
    }
    std::unordered_map<u32, Component> before;   // by first flow
    for (Component& of : components_) {
        const u32 first = of.flows.front();
        before.emplace(first, std::move(of));
    }
    bool is_other = false;
    components_.clear();
    for (u32 flow : order) {
        std::vector<u32>& flows = of_top[top[flow]];
        if (flows.empty() || flows.front() != flow) {
            continue;
        }
        const auto known = before.find(flow);
        const bool is_known = known != before.end() && known->second.flows == flows;
        is_other = is_other || !is_known;
        components_.push_back(is_known ? std::move(known->second) : component(std::move(flows)));
        flows.clear();
    }
    next_ = 0;
    ++rounds_;
    return is_other;
}

Apart::Component Apart::component(std::vector<u32> flows) const {
    Component made;
    made.flows = std::move(flows);
    for (u32 flow : made.flows) {
        for (std::span<const u32> way : {flows_[flow].data, flows_[flow].acks}) {
            for (u32 link : way) {
                made.links.push_back(link);
                made.links.push_back(fabric_.links[link].twin);
            }
        }
    }
    std::sort(made.links.begin(), made.links.end());
    made.links.erase(std::unique(made.links.begin(), made.links.end()), made.links.end());
    return made;
}

// All that a run of it depends on.
Apart::Key Apart::key_of(const Component& of) const {
    Key key{of.flows.size(), of.links.size()};
    const std::vector<u32> devices = Alone::devices_of(*this, of);
    for (u32 link : of.links) {
        const LinkSpec& spec = fabric_.links[link];
        key.insert(key.end(), {Alone::place_in(devices, spec.from), Alone::place_in(devices, spec.to), spec.bits_per_s,
                               spec.delay, Alone::place_in(of.links, spec.twin), fabric_.is_host[spec.from] ? 1U : 0U});
    }
    for (u32 flow : of.flows) {
        const ListedFlow& listed = flows_[flow];
        key.insert(key.end(), {listed.start - flows_[of.flows.front()].start, listed.bytes, listed.data.size()});
        for (std::span<const u32> way : {listed.data, listed.acks}) {
            for (u32 link : way) {
                key.push_back(Alone::place_in(of.links, link));
            }
        }
    }
    return key;
}

// Half of the packets, at least, as far as it can be said.
bool Apart::pays() const {
    std::map<Key, bool> seen;
    u64 all = 0;
    u64 first = 0;
    for (const Component& of : components_) {
        u64 packets = 0;
        for (u32 flow : of.flows) {
            packets += (flows_[flow].bytes / settings_.payload_bytes + 1) * flows_[flow].data.size();
        }
        all += packets;
        first += seen.emplace(key_of(of), true).second ? packets : 0;
    }
    return 2 * first <= all;
}

bool Apart::run_for(u64 events) {
    while (refused_.empty() && events > 0) {
        if (next_ < components_.size()) {
            handle(components_[next_], events);
            continue;
        }
        note_ends();
        if (!divide()) {
            add_up();
            return true;
        }
        if (rounds_ > most_rounds || !pays()) {
            refused_ = "flows meet more and more others";
        }
    }
    return !refused_.empty();
}

void Apart::handle(Component& of, u64& events) {
    if (of.known == nullptr && alone_ == nullptr) {
        const auto found = known_.find(key_of(of));
        if (found == known_.end()) {
            alone_ = std::make_unique<Alone>(*this, of);
        } else {
            of.known = &found->second;
        }
    }
    if (alone_ != nullptr) {
        events = alone_->run(events);
        if (!alone_->is_over()) {
            return;
        }
        refused_ = alone_->refused();
        of.known = &known_.emplace(key_of(of), alone_->known()).first->second;
        alone_ = nullptr;
    }
    ++next_;
    events -= std::min<u64>(events, 1);
}

void Apart::note_ends() {
    for (const Component& of : components_) {
        for (std::size_t at = 0; at < of.flows.size(); ++at) {
            completed_[of.flows[at]] = flows_[of.flows.front()].start + of.known->completed[at];
        }
    }
}

void Apart::add_up() {
    ports_.resize(fabric_.links.size());
    received_.resize(flows_.size());
    std::set<const Known*> counted;
    for (const Component& of : components_) {
        const u64 start = flows_[of.flows.front()].start;
        for (std::size_t at = 0; at < of.flows.size(); ++at) {
            received_[of.flows[at]] = start + of.known->received[at];
        }
        for (std::size_t at = 0; at < of.links.size(); ++at) {
            add_to(ports_[of.links[at]], of.known->ports[at]);
        }
        add_to(totals_, of.known->totals);
        totals_.skipped += counted.insert(of.known).second ? 0 : of.known->totals.packets;
        events_ += of.known->events;
    }
    if (!buffers_suffice()) {
        refused_ = "buffers may fill";
    }
}

bool Apart::buffers_suffice() const {
    Nobody nobody;
    const Simulator whole(fabric_, settings_, nobody);
    std::vector<u64> held(fabric_.is_host.size(), 0);
    for (std::size_t link = 0; link < ports_.size(); ++link) {
        held[fabric_.links[link].from] += ports_[link].queue_max_bytes;
    }
    for (u32 device = 0; device < held.size(); ++device) {
        if (!fabric_.is_host[device] && held[device] > 0 &&
            (times_of_alpha + 1) * (held[device] + 1) > whole.buffer_sharable(device)) {
            return false;
        }
    }
    return true;
}

}  // namespace yantra::packet
