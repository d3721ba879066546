#include "network/packet/packet_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "network/packet/apart.hpp"
#include "network/packet/route_table.hpp"
#include "network/packet/windows.hpp"

namespace yantra::packet {

namespace {

// What a flow crosses, by number in the simulator.
struct OfFlow {
    u32 data = 0;
    u32 acks = 0;
    u32 first_way = 0;
    u32 ways = 0;
    u32 target = none;
};

class PacketFlows final : public PacketRun {
public:
    PacketFlows(FlowList flows, PacketColumns columns, LinkSpeeds links, const FabricSpec& fabric,
                const Settings& settings, QueueSamples samples, const Threads& threads)
        : PacketRun(std::move(flows), std::move(links), false),
          columns_(std::move(columns)),
          fabric_(fabric),
          settings_(settings),
          samples_(std::move(samples)),
          ticks_per_ns_(static_cast<double>(settings.ticks_per_ns())),
          completed_ns_(flows_.bytes.size(), std::numeric_limits<double>::infinity()),
          routes_(flows_.bytes.size()),
          followers_(flows_.bytes.size(), none),
          next_follower_(flows_.bytes.size(), none) {
        check_columns();
        check_sampled();
        for (u32 flow = static_cast<u32>(routes_.size()); flow-- > 0;) {
            if (waits(flow)) {
                next_follower_[flow] = std::exchange(followers_[columns_.after[flow]], flow);
            }
        }
        choose(threads);
        if (apart_ == nullptr) {
            begin();
        }
    }

    bool run_for(u64 steps) override {
        if (apart_ != nullptr) {
            return run_apart_for(steps);
        }
        if (windows_ == nullptr) {
            return run_alone_for(steps);
        }
        const bool is_over = windows_->run_for(steps * parts_.size());
        if (windows_->refused().empty()) {
            tell_ended();
            return is_over;
        }
        partition_ = {};
        partition_.why = "begun again, as " + windows_->refused();
        begin_again();
        std::fill(completed_ns_.begin(), completed_ns_.end(), std::numeric_limits<double>::infinity());
        begin();
        return false;
    }

    PacketCounts counts() const override {
        PacketCounts found{{}, 0, ticks_per_ns_, std::vector<PortCount>(fabric_.links.size())};
        if (apart_ != nullptr && !apart_->ports().empty()) {
            return {apart_->totals(), apart_->events(), ticks_per_ns_, apart_->ports()};
        }
        for (const auto& part : parts_) {
            add_to(found.totals, part->simulator.totals());
            found.events += part->simulator.events();
            for (std::size_t link = 0; link < found.ports.size(); ++link) {
                add_to(found.ports[link], count_of(part->simulator.ports()[link], now()));
            }
        }
        return found;
    }
    const Partition& partition() const override { return partition_; }
    std::shared_ptr<Seen> seen() override {
        return apart_ != nullptr ? std::make_shared<Seen>(settings_) : std::const_pointer_cast<Seen>(first().watch().seen());
    }
    const std::vector<double>& start_ns() const override { return begins_ns_; }
    const std::vector<double>& completed_ns() const override { return completed_ns_; }
    const QueueSamples& samples() const override { return samples_; }
    const std::optional<Stuck>& stuck() const override { return stuck_; }

private:
    // Some devices, which a thread has.
    struct Own final : Observer {
        Own(PacketFlows& flows, const Part& part)
            : of(flows), simulator(flows.fabric_, flows.settings_, *this, part), is_all(part.parts == 1) {}

        void received(u32 flow) override {
            if (is_all) {
                of.is_through(flow, of.ns(simulator.now()));
            } else {
                ended.push_back({simulator.now(), flow});
            }
        }
        void completed(u32 flow) override { of.has_completed(flow, simulator); }

        PacketFlows& of;
        Simulator simulator;
        const bool is_all;
        std::vector<std::pair<u64, u32>> ended;   // ticks and flows, to be told
    };

    double ns(u64 ticks) const { return static_cast<double>(ticks) / ticks_per_ns_; }
    u64 tick(double ns) const { return static_cast<u64>(std::llround(ns * ticks_per_ns_)); }
    u64 now() const { return windows_ != nullptr ? windows_->now() : first().now(); }
    Simulator& first() { return parts_.front()->simulator; }
    const Simulator& first() const { return parts_.front()->simulator; }
    u32 source(u32 flow) const { return fabric_.links[flows_.route(flow).front()].from; }
    Simulator& simulator_of(u32 flow) {
        return parts_.size() == 1 ? first() : parts_[partition_.part_of[source(flow)]]->simulator;
    }

    bool run_apart_for(u64 steps) {
        constexpr u64 at_once = 1024;
        for (; steps > 0; steps -= std::min(steps, at_once)) {
            look_up();
            if (apart_->run_for(at_once)) {
                break;
            }
        }
        if (!apart_->refused().empty()) {
            apart_ = nullptr;
            choose_parts();
            begin();
            return false;
        }
        if (apart_->received().empty()) {
            return false;
        }
        std::vector<std::pair<u64, u32>> all;
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            all.emplace_back(apart_->received()[flow], flow);
            completed_ns_[flow] = ns(apart_->completed()[flow]);
        }
        std::sort(all.begin(), all.end());
        for (const auto& [at, flow] : all) {
            is_through(flow, ns(at));
        }
        return true;
    }

    bool run_alone_for(u64 steps) {
        Simulator& simulator = first();
        for (; steps > 0 && !simulator.empty(); --steps) {
            look_up();
            simulator.step();
            if ((++since_look_ & 0xfffff) == 0 && look()) {
                return true;
            }
        }
        if (!simulator.empty()) {
            return false;
        }
        look();
        return true;
    }

    bool look() {
        stuck_ = first().stuck();
        return stuck_.has_value();
    }

    void choose(const Threads& threads) {
        threads_ = threads;
        bool is_simple = columns_.ways == 0 && samples_.link == none;
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            is_simple = is_simple && !waits(flow);
        }
        if (is_simple && threads.part_of.empty() && Apart::refusal(settings_).empty()) {
            std::vector<ListedFlow> flows;
            for (u32 flow = 0; flow < routes_.size(); ++flow) {
                flows.push_back({tick(flows_.start_ns[flow]), static_cast<u64>(flows_.bytes[flow]), flows_.route(flow),
                                 way_back(flow)});
            }
            apart_ = std::make_unique<Apart>(fabric_, settings_, std::move(flows));
            begins_ns_ = flows_.start_ns;
            partition_.why = "flows that never meet, and are alike, are simulated once";
            if (apart_->refused().empty()) {
                return;
            }
            apart_ = nullptr;
        }
        choose_parts();
    }

    void choose_parts() {
        const Threads& threads = threads_;
        partition_ = {};
        if (threads.wanted == 1 && threads.part_of.empty()) {
            partition_.why = "as asked";
            return;
        }
        partition_.why = samples_.link == none ? why_one_thread(settings_) : queues_in_one_order;
        if (partition_.why.empty()) {
            partition_ = divide(fabric_, demand(), threads);
        }
    }

    Demand demand() const {
        const Transmission transmission(settings_.ticks_per_ns());
        Demand found{std::vector<u64>(fabric_.links.size(), 0), {}, {}, 0.0};
        for (const LinkSpec& link : fabric_.links) {
            found.least.push_back(link.delay + transmission.ticks(pause_bytes, link.bits_per_s));
        }
        std::vector<double> bytes(fabric_.links.size(), 0.0);
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            const double packets = std::ceil(flows_.bytes[flow] / settings_.payload_bytes);
            for (u32 link : flows_.route(flow)) {
                found.crossings[link] += static_cast<u64>(packets);
                bytes[link] += flows_.bytes[flow] + packets * plain_header;
            }
            for (u32 link : way_back(flow)) {
                found.crossings[link] += static_cast<u64>(packets);
            }
            if (waits(flow) && source(columns_.after[flow]) != source(flow)) {
                found.together.emplace_back(source(columns_.after[flow]), source(flow));
            }
        }
        for (std::size_t link = 0; link < bytes.size(); ++link) {
            const double bits_per_tick = static_cast<double>(fabric_.links[link].bits_per_s) / 1e9 / ticks_per_ns_;
            found.span = std::max(found.span, 8.0 * bytes[link] / bits_per_tick);
        }
        return found;
    }

    // Makes the parts, and sends what waits for nothing.
    void begin() {
        windows_ = nullptr;
        parts_.clear();
        begins_ns_ = flows_.start_ns;
        since_look_ = 0;
        parts_.push_back(std::make_unique<Own>(*this, part(0)));
        add_routes();
        for (u32 number = 1; number < partition_.parts; ++number) {
            parts_.push_back(std::make_unique<Own>(*this, part(number)));
        }
        if (parts_.size() > 1) {
            share();
        }
        if (samples_.link != none && samples_.every_ns > 0.0) {
            first().watch().sample(LinkId(samples_.link), tick(samples_.every_ns), samples_.bytes);
        }
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            if (!waits(flow)) {
                send(flow, tick(flows_.start_ns[flow]), simulator_of(flow));
            }
        }
    }

    Part part(u32 number) const {
        Part made;
        if (partition_.parts > 1) {
            made = {number, partition_.parts, partition_.part_of, nullptr, 0};
            made.routes = number == 0 ? nullptr : first().shared_routes();
        }
        return made;
    }

    void share() {
        std::vector<u32> flows(parts_.size(), 0);
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            ++flows[partition_.part_of[source(flow)]];
        }
        std::vector<Sender*> senders;
        std::vector<Simulator*> all;
        for (std::size_t number = 0; number < parts_.size(); ++number) {
            all.push_back(&parts_[number]->simulator);
            senders.push_back(all.back()->senders().reserve(flows[number]));
        }
        for (u32 number = 0; number < parts_.size(); ++number) {
            all[number]->senders().share(number, senders);
        }
        windows_ = std::make_unique<Windows>(std::move(all), partition_.window);
    }

    // In order of time, and then of flows.
    void tell_ended() {
        std::vector<std::pair<u64, u32>> all;
        for (const auto& part : parts_) {
            all.insert(all.end(), part->ended.begin(), part->ended.end());
            part->ended.clear();
        }
        std::sort(all.begin(), all.end());
        for (const auto& [at, flow] : all) {
            is_through(flow, ns(at));
        }
    }

    void check_columns() const {
        const std::size_t count = flows_.bytes.size();
        const bool has_acks = columns_.first_ack_hop.size() == count + 1 &&
                              columns_.first_ack_hop.back() == columns_.ack_hops.size();
        if (!has_acks || (!columns_.after.empty() && columns_.after.size() != count) ||
            columns_.after.size() != columns_.delay_ns.size()) {
            throw std::invalid_argument("flows: columns of different lengths");
        }
        for (std::size_t flow = 0; flow < count; ++flow) {
            if (flows_.route(flow).empty() || flows_.bytes[flow] < 1.0 || flows_.bytes[flow] > 9e15) {
                throw std::invalid_argument("flow " + std::to_string(flow) +
                                            ": packets need a link to cross and 1 to 9e15 bytes");
            }
            if (way_back(flow).empty()) {
                throw std::invalid_argument("flow " + std::to_string(flow) + ": no way back for its ACKs");
            }
            if (!columns_.after.empty() && columns_.after[flow] != none && columns_.after[flow] >= count) {
                throw std::invalid_argument("flow " + std::to_string(flow) + ": waits for one that is not there");
            }
        }
        check_links(columns_.ack_hops, "a way of ACKs");
        check_links(columns_.way_hops, "a way of packets");
        const bool has_ways = columns_.ways > 0 && columns_.first_way_hop.size() == count * columns_.ways + 1 &&
                              columns_.first_way_hop.back() == columns_.way_hops.size();
        if (columns_.ways > 0 && !has_ways) {
            throw std::invalid_argument("flows: columns of different lengths");
        }
    }

    void check_links(const std::vector<u32>& hops, const char* what) const {
        for (u32 link : hops) {
            if (link >= links_.latency_ns.size()) {
                throw std::invalid_argument(std::string("flows: ") + what + " over a link that is not there");
            }
        }
    }

    void check_sampled() const {
        if (samples_.link == none || samples_.every_ns <= 0.0) {
            return;
        }
        if (samples_.link >= links_.latency_ns.size() || tick(samples_.every_ns) == 0) {
            throw std::invalid_argument("flows: a link that is there and an interval above 0 are expected of samples");
        }
    }

    void add_routes() {
        RouteTable table(first());
        if (columns_.ways > 0) {
            first().add_ways({});   // throws, with the reason, if it cannot be sprayed
        }
        Steering* steering = columns_.chooser == nullptr ? nullptr : &first().steer_by(*columns_.chooser);
        for (std::size_t flow = 0; flow < routes_.size(); ++flow) {
            OfFlow& of = routes_[flow] = {table.add(flows_.route(flow)), table.add(way_back(flow))};
            if (columns_.ways > 0) {
                spray(flow, of, table);
            }
            if (steering != nullptr) {
                of.target = steering->target(source(static_cast<u32>(flow)), fabric_.links[flows_.route(flow).back()].to);
            }
        }
    }

    // Those that leave by another port than the first are left out.
    void spray(std::size_t flow, OfFlow& of, RouteTable& table) {
        const u32 port = flows_.route(flow).front();
        std::vector<u32> ways = {of.data};
        for (u32 way = 0; way < columns_.ways; ++way) {
            const std::size_t row = flow * columns_.ways + way;
            const std::span<const u32> links(columns_.way_hops.data() + columns_.first_way_hop[row],
                                             columns_.first_way_hop[row + 1] - columns_.first_way_hop[row]);
            if (links.empty() || links.front() != port) {
                continue;
            }
            const u32 route = table.add(links);
            if (std::find(ways.begin(), ways.end(), route) == ways.end()) {
                ways.push_back(route);
            }
        }
        of.first_way = first().add_ways(ways);
        of.ways = static_cast<u32>(ways.size());
    }

    std::span<const u32> way_back(std::size_t flow) const {
        const u64 from = columns_.first_ack_hop[flow];
        return {columns_.ack_hops.data() + from, columns_.first_ack_hop[flow + 1] - from};
    }
    bool waits(u32 flow) const { return !columns_.after.empty() && columns_.after[flow] != none; }

    void send(u32 flow, u64 at, Simulator& simulator) {
        begins_ns_[flow] = ns(at);
        const std::span<const u32> way = flows_.route(flow);
        const OfFlow& of = routes_[flow];
        FlowSpec sent{flow, static_cast<u64>(flows_.bytes[flow]), of.data, of.acks, of.first_way, of.ways,
                      fabric_.links[way.front()].from, fabric_.links[way.back()].to};
        sent.target = of.target;
        sent.serial = flow + 1;
        simulator.send(sent, at);
    }

    // Those that wait for it are sent by the same part.
    void has_completed(u32 flow, Simulator& simulator) {
        completed_ns_[flow] = ns(simulator.now());
        for (u32 next = followers_[flow]; next != none; next = next_follower_[next]) {
            send(next, simulator.now() + tick(columns_.delay_ns[next]), simulator);
        }
    }

    const PacketColumns columns_;
    const FabricSpec fabric_;
    const Settings settings_;
    QueueSamples samples_;
    const double ticks_per_ns_;
    std::vector<double> begins_ns_;
    std::vector<double> completed_ns_;
    std::vector<OfFlow> routes_;
    std::vector<u32> followers_;                // by flow: the first that waits for it
    std::vector<u32> next_follower_;
    Threads threads_;
    Partition partition_;
    std::unique_ptr<Apart> apart_;              // instead of parts
    std::vector<std::unique_ptr<Own>> parts_;
    std::unique_ptr<Windows> windows_;          // of several parts
    std::optional<Stuck> stuck_;
    u64 since_look_ = 0;
};

}  // namespace

std::unique_ptr<PacketRun> send_packets(FlowList flows, PacketColumns columns, LinkSpeeds links,
                                        const FabricSpec& fabric, const Settings& settings, QueueSamples samples,
                                        const Threads& threads) {
    return std::make_unique<PacketFlows>(std::move(flows), std::move(columns), std::move(links), fabric, settings,
                                         std::move(samples), threads);
}

}  // namespace yantra::packet
