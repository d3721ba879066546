#include "network/packet/packet_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/interruption.hpp"
#include "network/packet/route_table.hpp"

namespace yantra::packet {

namespace {

class PacketFlows final : public PacketRun, private Observer {
public:
    PacketFlows(FlowList flows, PacketColumns columns, LinkSpeeds links, const FabricSpec& fabric,
                const Settings& settings, QueueSamples samples)
        : PacketRun(std::move(flows), std::move(links), false),
          columns_(std::move(columns)),
          settings_(settings),
          simulator_(fabric, settings, *this),
          samples_(std::move(samples)),
          ticks_per_ns_(static_cast<double>(settings.ticks_per_ns())),
          begins_ns_(flows_.start_ns),
          completed_ns_(flows_.bytes.size(), std::numeric_limits<double>::infinity()),
          routes_(flows_.bytes.size()),
          followers_(flows_.bytes.size(), none),
          next_follower_(flows_.bytes.size(), none) {
        check_columns();
        add_routes();
        if (samples_.link != none && samples_.every_ns > 0.0) {
            check_sampled();
            simulator_.watch().sample(LinkId(samples_.link), tick(samples_.every_ns), samples_.bytes);
        }
        begin();
    }

    bool run_for(u64 steps) override {
        for (; steps > 0 && !simulator_.empty(); --steps) {
            look_up();
            simulator_.step();
            if ((++since_look_ & 0xfffff) == 0 && look()) {
                return true;
            }
        }
        if (!simulator_.empty()) {
            return false;
        }
        look();
        return true;
    }

    const Simulator& simulator() const override { return simulator_; }
    std::shared_ptr<Seen> seen() override { return std::const_pointer_cast<Seen>(simulator_.watch().seen()); }
    const std::vector<double>& start_ns() const override { return begins_ns_; }
    const std::vector<double>& completed_ns() const override { return completed_ns_; }
    const QueueSamples& samples() const override { return samples_; }
    const std::optional<Stuck>& stuck() const override { return stuck_; }

private:
    struct Routes {
        u32 data = 0;
        u32 acks = 0;
        u32 first_way = 0;
        u32 ways = 0;
    };

    u64 tick(double ns) const { return static_cast<u64>(std::llround(ns * ticks_per_ns_)); }
    double now_ns() const { return static_cast<double>(simulator_.now()) / ticks_per_ns_; }

    bool look() {
        stuck_ = simulator_.stuck();
        return stuck_.has_value();
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
        if (samples_.link >= links_.latency_ns.size() || tick(samples_.every_ns) == 0) {
            throw std::invalid_argument("flows: a link that is there and an interval above 0 are expected of samples");
        }
    }

    void add_routes() {
        RouteTable table(simulator_);
        if (columns_.ways > 0) {
            simulator_.add_ways({});   // throws, with the reason, if it cannot be sprayed
        }
        for (std::size_t flow = 0; flow < routes_.size(); ++flow) {
            const u64 from = columns_.first_ack_hop[flow];
            const std::span<const u32> back(columns_.ack_hops.data() + from, columns_.first_ack_hop[flow + 1] - from);
            if (back.empty()) {
                throw std::invalid_argument("flow " + std::to_string(flow) + ": no way back for its ACKs");
            }
            Routes& of = routes_[flow] = {table.add(flows_.route(flow)), table.add(back)};
            if (columns_.ways > 0) {
                spray(flow, of, table);
            }
        }
    }

    // Those that leave by another port than the first are left out.
    void spray(std::size_t flow, Routes& of, RouteTable& table) {
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
        of.first_way = simulator_.add_ways(ways);
        of.ways = static_cast<u32>(ways.size());
    }

    void begin() {
        for (u32 flow = static_cast<u32>(routes_.size()); flow-- > 0;) {
            if (waits(flow)) {
                next_follower_[flow] = std::exchange(followers_[columns_.after[flow]], flow);
            }
        }
        for (u32 flow = 0; flow < routes_.size(); ++flow) {
            if (!waits(flow)) {
                send(flow, tick(flows_.start_ns[flow]));
            }
        }
    }

    bool waits(u32 flow) const { return !columns_.after.empty() && columns_.after[flow] != none; }

    void send(u32 flow, u64 at) {
        begins_ns_[flow] = static_cast<double>(at) / ticks_per_ns_;
        const std::span<const u32> way = flows_.route(flow);
        const Routes& of = routes_[flow];
        simulator_.send({flow, static_cast<u64>(flows_.bytes[flow]), of.data, of.acks, of.first_way, of.ways,
                         simulator_.ports()[way.front()].from, simulator_.ports()[way.back()].to},
                        at);
    }

    void received(u32 flow) override { is_through(flow, now_ns()); }

    void completed(u32 flow) override {
        completed_ns_[flow] = now_ns();
        for (u32 next = followers_[flow]; next != none; next = next_follower_[next]) {
            send(next, simulator_.now() + tick(columns_.delay_ns[next]));
        }
    }

    const PacketColumns columns_;
    const Settings settings_;
    Simulator simulator_;
    QueueSamples samples_;
    const double ticks_per_ns_;
    std::vector<double> begins_ns_;
    std::vector<double> completed_ns_;
    std::vector<Routes> routes_;
    std::vector<u32> followers_;                // by flow: the first that waits for it
    std::vector<u32> next_follower_;
    std::optional<Stuck> stuck_;
    u64 since_look_ = 0;
};

}  // namespace

std::unique_ptr<PacketRun> send_packets(FlowList flows, PacketColumns columns, LinkSpeeds links,
                                        const FabricSpec& fabric, const Settings& settings, QueueSamples samples) {
    return std::make_unique<PacketFlows>(std::move(flows), std::move(columns), std::move(links), fabric, settings,
                                         std::move(samples));
}

}  // namespace yantra::packet
