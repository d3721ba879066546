// Jobs of rings on one switch or on two tiers, with steps that repeat, change or end: what is heard,
// when, and what ports count is the same whether repeated steps are skipped or not.
#include "network/packet/repeats.hpp"

#include <algorithm>
#include <cstdio>
#include <queue>
#include <tuple>
#include <vector>

#include "base/test.hpp"
#include "network/packet/presets.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

struct Job {
    u32 hosts = 0;
    u32 leaves = 1;                       // with one spine above, if more than one
    u32 steps = 0;
    std::vector<u64> delays;              // by host, between a message that arrives and the next
    u32 period = 1;                       // of steps; the first of each begins later by
    u64 extra = 0;
    std::vector<std::pair<u32, u64>> changes;   // from a step on: bytes
    u64 bits_per_s = 0;
    u64 latency = 0;
    bool are_alike = false;               // no host is before another
    bool waits_for_acks = false;          // a host sends the next when it has its last ACK, too
};

FabricSpec fabric_of(const Job& job) {
    FabricSpec fabric;
    const u32 spine = job.hosts + job.leaves;
    const auto add = [&](u32 one, u32 other) {
        const u32 link = static_cast<u32>(fabric.links.size());
        fabric.links.push_back({one, other, job.bits_per_s, job.latency, link + 1});
        fabric.links.push_back({other, one, job.bits_per_s, job.latency, link});
    };
    fabric.is_host.assign(spine + 1, false);
    for (u32 host = 0; host < job.hosts; ++host) {
        fabric.is_host[host] = true;
        add(host, job.hosts + host * job.leaves / job.hosts);
    }
    for (u32 leaf = 0; leaf < job.leaves; ++leaf) {
        add(job.hosts + leaf, spine);
    }
    return fabric;
}

class World : private Observer {
public:
    using Event = std::tuple<u64, u64, u32, u32>;   // tick, turn, host, step

    World(const Job& job, const Settings& settings, bool skips)
        : job_(job), simulator_(fabric_of(job), settings, *this), repeats_(simulator_, *this, skips), state_(job.hosts) {
        for (u32 host = 0; host < job.hosts; ++host) {
            routes_.push_back(add_route(host, (host + 1) % job.hosts));
            back_.push_back(add_route((host + 1) % job.hosts, host));
            sends_.push({0, turn_++, host, 0});
        }
    }

    void run() {
        while (true) {
            const u64 network = repeats_.empty()      ? ~u64{0}
                                : repeats_.replays() ? repeats_.next_time()
                                                     : simulator_.next_time();
            const u64 sent = sends_.empty() ? ~u64{0} : std::get<0>(sends_.top());
            now_ = std::min(network, sent);
            if (now_ == ~u64{0}) {
                break;
            }
            if (sends_.empty() && under_way_ == 0) {
                break;
            }
            while (!sends_.empty() && std::get<0>(sends_.top()) == now_) {
                const auto [tick, turn, host, step] = sends_.top();
                sends_.pop();
                send(host, step);
            }
            repeats_.run_to(now_, [this] { simulator_.step(); });
        }
        repeats_.end(now_);
        while (!simulator_.empty()) {
            simulator_.step();
        }
    }

    const Simulator& simulator() const { return simulator_; }
    std::vector<std::tuple<u64, u32, u32, bool>> heard;

private:
    struct OfHost {
        u32 received = 0;
        u32 acknowledged = 0;
        u32 sent = 1;
    };

    u32 add_route(u32 from, u32 to) {
        const u32 leaf = from * job_.leaves / job_.hosts;
        const u32 other = to * job_.leaves / job_.hosts;
        std::vector<u32> links = {2 * from};
        if (leaf != other) {
            links.push_back(2 * (job_.hosts + leaf));
            links.push_back(2 * (job_.hosts + other) + 1);
        }
        links.push_back(2 * to + 1);
        return simulator_.add_route(links);
    }

    void send(u32 host, u32 step) {
        u64 bytes = 1;
        for (const auto& [from, size] : job_.changes) {
            bytes = step >= from ? size : bytes;
        }
        u32 number = static_cast<u32>(flows_.size());
        if (free_.empty()) {
            flows_.push_back({host, step});
        } else {
            number = free_.back();
            free_.pop_back();
            flows_[number] = {host, step};
        }
        ++under_way_;
        repeats_.send({number, bytes, routes_[host], back_[host], 0, 0, none, none, none, job_.are_alike ? u16{0} : static_cast<u16>(host)}, now_);
    }

    void goes_on(u32 host) {
        OfHost& of = state_[host];
        const u32 may = job_.waits_for_acks ? std::min(of.received, of.acknowledged) : of.received;
        while (of.sent <= may && of.sent < job_.steps) {
            const u64 extra = of.sent % job_.period == 0 ? job_.extra : 0;
            sends_.push({now_ + job_.delays[host] + extra, turn_++, host, of.sent++});
        }
    }
    void received(u32 flow) override {
        if (repeats_.hears(flow, false)) {
            const auto [host, step] = flows_[flow];
            heard.push_back({now_, host, step, false});
            ++state_[(host + 1) % job_.hosts].received;
            goes_on((host + 1) % job_.hosts);
        }
    }
    void completed(u32 flow) override {
        if (repeats_.hears(flow, true)) {
            const auto [host, step] = flows_[flow];
            heard.push_back({now_, host, step, true});
            ++state_[host].acknowledged;
            --under_way_;
            free_.push_back(flow);
            goes_on(host);
        }
    }

    const Job job_;
    Simulator simulator_;
    Repeats repeats_;
    std::vector<OfHost> state_;
    std::vector<u32> routes_;
    std::vector<u32> back_;
    std::vector<std::pair<u32, u32>> flows_;
    std::vector<u32> free_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> sends_;
    u64 now_ = 0;
    u64 turn_ = 0;
    u32 under_way_ = 0;
};

void check_counts(const Simulator& one, const Simulator& other, u64 number) {
    for (u32 link = 0; link < one.ports().size(); ++link) {
        const PortCount a = count_of(one.ports()[link], one.now());
        const PortCount b = count_of(other.ports()[link], other.now());
        check(a.packets == b.packets && a.bytes == b.bytes && a.queue_max_bytes == b.queue_max_bytes &&
                  a.pauses == b.pauses && a.resumes == b.resumes && a.marks == b.marks &&
                  a.paused_ticks == b.paused_ticks && a.busy_ticks == b.busy_ticks,
              "a port counts something else", number);
    }
    check(one.totals().acks == other.totals().acks && one.totals().packets == other.totals().packets, "totals differ",
          number);
    check(one.events() == other.events(), "other events", number);
}

Job draw(test::Random& random) {
    Job job;
    job.leaves = random.one_in(2) ? 1 : 2;
    job.hosts = job.leaves * static_cast<u32>(1 + random.below(4));
    job.hosts = std::max(job.hosts, 2U);
    job.steps = static_cast<u32>(1 + random.below(60));
    const u64 payload = 1 + random.below(40'000);
    job.changes = {{0, payload}};
    if (random.one_in(3)) {
        job.changes.push_back({static_cast<u32>(random.below(job.steps)), 1 + random.below(40'000)});
    }
    const u64 delay = random.one_in(2) ? 0 : random.below(3'000'000);
    for (u32 host = 0; host < job.hosts; ++host) {
        job.delays.push_back(random.one_in(6) ? random.below(2'000'000) : delay);
    }
    if (random.one_in(2)) {
        job.period = static_cast<u32>(2 + random.below(4));
        job.extra = random.below(4 * job.changes.front().second * 80);
    }
    job.bits_per_s = (1 + random.below(8)) * 50'000'000'000;
    job.latency = 1000 * random.below(1000);
    job.are_alike = random.one_in(2);
    job.waits_for_acks = random.one_in(3);
    return job;
}

}  // namespace

int main(int count, char** arguments) {
    const u64 cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 300;
    test::Random random(51);
    u64 packets = 0;
    u64 skipped = 0;
    for (u64 number = 0; number < cases; ++number) {
        const Job job = draw(random);
        Settings settings = settings_of(random.one_in(2) ? "static_window" : "none", 400.0, "", {});
        settings.acks_first = random.one_in(2);
        settings.orders_ties = true;
        World plain(job, settings, false);
        World skips(job, settings, true);
        plain.run();
        skips.run();
        check(plain.heard == skips.heard, "something else is heard", number);
        check_counts(plain.simulator(), skips.simulator(), number);
        packets += plain.simulator().totals().packets;
        skipped += skips.simulator().totals().skipped;
    }
    std::printf("%llu of %llu packets skipped\n", static_cast<unsigned long long>(skipped),
                static_cast<unsigned long long>(packets));
    check(6 * skipped > packets, "hardly anything was skipped", cases);
    return 0;
}
