// Jobs that react at once to what hosts hear, over random tiers of switches and under random controls:
// what is heard, when, and what ports count is the same whether one simulator has all devices or
// switches are in threads of their own, parted anyhow.
#include "network/packet/followers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "base/one_thread.hpp"
#include "base/test.hpp"
#include "network/packet/test_settings.hpp"

namespace {

using namespace yantra;
using namespace yantra::packet;
using test::check;

struct Case {
    u32 leaves = 1;
    u32 hosts = 1;    // of a leaf
    u32 spines = 1;
    std::vector<u64> latencies;   // in turns, of links
    u32 flows = 1;    // in all
    u32 begin = 1;    // at once
    u64 seed = 0;     // of what follows what
    bool in_step = false;
    bool to_one = false;
    Settings settings;

    u32 all_hosts() const { return leaves * hosts; }
    u32 devices() const { return all_hosts() + leaves + spines; }
    u64 drawn(u64 of, u64 below) const {
        u64 x = (of + seed) * 0x9e3779b97f4a7c15;
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
        return (x ^ x >> 32) % below;
    }
};

FabricSpec fabric_of(const Case& of) {
    FabricSpec fabric;
    fabric.is_host.assign(of.devices(), false);
    const auto add = [&](u32 one, u32 other) {
        const u32 link = static_cast<u32>(fabric.links.size());
        const u64 delay = of.latencies[link / 2 % of.latencies.size()];
        fabric.links.push_back({one, other, 100000000000, delay, link + 1});
        fabric.links.push_back({other, one, 100000000000, delay, link});
    };
    for (u32 host = 0; host < of.all_hosts(); ++host) {
        fabric.is_host[host] = true;
        add(host, of.all_hosts() + host / of.hosts);
    }
    for (u32 leaf = 0; leaf < of.leaves; ++leaf) {
        for (u32 spine = 0; spine < of.spines; ++spine) {
            add(of.all_hosts() + leaf, of.all_hosts() + of.leaves + spine);
        }
    }
    return fabric;
}

// An engine that sends as it hears, as PacketNetwork does for a job's.
class Driver final : Observer {
public:
    using Heard = std::tuple<u64, u32, bool>;

    Driver(const Case& of, const Partition& parts)
        : of_(of), fabric_(fabric_of(of)), first_(fabric_, of.settings, *this, Part{0, parts.parts, parts.part_of}) {
        if (parts.parts > 1) {
            Observer& own = *this;
            followers_ = std::make_unique<Followers>(fabric_, of.settings, own, first_, parts);
        }
    }

    void run() {
        for (u32 host = 0; host < of_.begin; ++host) {
            later_.push({of_.in_step ? 0 : 1000 * of_.drawn(host, 300), made_++, host % of_.all_hosts()});
        }
        while (under_way_ > 0 || !later_.empty()) {
            now_ = next();
            do {
                while (!later_.empty() && std::get<0>(later_.top()) == now_) {
                    const auto [tick, flow, host] = later_.top();
                    later_.pop();
                    send(flow, host);
                }
                run_to_now();
            } while (!later_.empty() && std::get<0>(later_.top()) == now_);
        }
        end();
    }

    const std::vector<Heard>& heard() const { return heard_; }
    const std::vector<u64>& busy() const { return busy_; }
    Totals totals() const { return followers_ ? followers_->totals() : first_.totals(); }
    u64 events() const { return followers_ ? followers_->events() : first_.events(); }
    PortCount port(u32 link) const {
        return followers_ ? count_of(followers_->ports()[link], followers_->now())
                          : count_of(first_.ports()[link], first_.now());
    }

private:
    using Later = std::tuple<u64, u32, u32>;   // tick, flow, host

    u64 next() const {
        u64 found = later_.empty() ? ~u64{0} : std::get<0>(later_.top());
        if (under_way_ > 0) {
            found = std::min(found, first_.empty() ? ~u64{0} : first_.next_time());
            found = followers_ ? std::min(found, std::max(now_, followers_->end())) : found;
        }
        return found;
    }

    void run_to_now() {
        reach();
        while (!first_.empty() && first_.next_time() <= now_) {
            first_.step();
        }
    }
    void reach() {
        while (followers_ && followers_->end() <= now_) {
            first_.run_before(followers_->end());
            followers_->follow(now_);
        }
    }

    void end() {
        if (!followers_) {
            first_.run_before(~u64{0});
            return;
        }
        while (!followers_->is_idle()) {
            followers_->follow(~u64{0});
            first_.run_before(followers_->end());
        }
    }

    void send(u32 flow, u32 from) {
        const u32 hosts = of_.all_hosts();
        u32 to = static_cast<u32>((from + 1 + (of_.in_step ? 0 : of_.drawn(3 * flow, hosts - 1))) % hosts);
        to = of_.to_one && from != 0 ? 0 : to;
        const u64 bytes = of_.in_step ? 30000 : 1 + of_.drawn(3 * flow + 1, 60000);
        const u32 spine = static_cast<u32>(of_.drawn(3 * flow + 2, of_.spines));
        ends_.resize(std::max<std::size_t>(ends_.size(), flow + std::size_t{1}));
        ends_[flow] = {from, to};
        FlowSpec sent{flow, bytes, route(from, to, spine), route(to, from, spine), 0, 0, from, to, none, static_cast<u16>(from)};
        if (followers_) {
            followers_->goes_on();
        }
        first_.send(sent, now_);
        ++under_way_;
    }

    u32 route(u32 from, u32 to, u32 spine) {
        const auto known = routes_.find({from, to, spine});
        if (known != routes_.end()) {
            return known->second;
        }
        if (followers_) {
            followers_->rest();
        }
        const u32 one = from / of_.hosts;
        const u32 other = to / of_.hosts;
        std::vector<u32> way{2 * from};
        if (one != other) {
            way.push_back(2 * (of_.all_hosts() + one * of_.spines + spine));
            way.push_back(2 * (of_.all_hosts() + other * of_.spines + spine) + 1);
        }
        way.push_back(2 * to + 1);
        const u32 made = routes_[{from, to, spine}] = first_.add_route(way);
        if (followers_) {
            followers_->add_hops();
        }
        return made;
    }

    void received(u32 flow) override { hears(flow, false, ends_[flow].second); }
    void completed(u32 flow) override {
        --under_way_;
        hears(flow, true, ends_[flow].first);
    }

    // Most react at once, at the host that heard; the last that arrives ends the accounts.
    void hears(u32 flow, bool is_completed, u32 host) {
        heard_.push_back({now_, flow, is_completed});
        const u64 wait = of_.drawn(7 * flow + (is_completed ? 1 : 0), 3);
        if (made_ < of_.flows && (of_.in_step ? !is_completed : of_.drawn(5 * flow, 3) != 0)) {
            later_.push({now_ + (of_.in_step || wait < 2 ? 0 : 777), made_++, host});
        } else if (++quiet_ % 4 == 0) {
            note_end();
        }
    }

    void note_end() {
        if (followers_) {
            reach();
            followers_->note_end(now_);
        } else {
            first_.watch().note_end(now_);
        }
        const std::vector<u64>& found = followers_ ? followers_->busy_at_end() : first_.watch().busy_at_end();
        busy_.insert(busy_.end(), found.begin(), found.end());
    }

    const Case& of_;
    const FabricSpec fabric_;
    Simulator first_;
    std::unique_ptr<Followers> followers_;
    std::map<std::tuple<u32, u32, u32>, u32> routes_;
    std::vector<std::pair<u32, u32>> ends_;   // hosts of flows
    std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
    std::vector<Heard> heard_;
    std::vector<u64> busy_;      // of all links, at each end
    u64 now_ = 0;
    u32 made_ = 0;
    u32 under_way_ = 0;
    u32 quiet_ = 0;
};

Case draw(test::Random& random) {
    Case of;
    of.leaves = static_cast<u32>(2 + random.below(3));
    of.hosts = static_cast<u32>(1 + random.below(6));
    of.spines = static_cast<u32>(1 + random.below(3));
    for (u64 left = 1 + random.below(4); left > 0; --left) {
        const std::vector<u64> some{100000, 250000, 500000, 1000000};
        of.latencies.push_back(some[random.below(some.size())]);
    }
    of.flows = static_cast<u32>(1 + random.below(120));
    of.in_step = random.one_in(3);
    of.begin = of.in_step ? of.all_hosts() : static_cast<u32>(1 + random.below(2 * of.all_hosts()));
    of.to_one = !of.in_step && random.one_in(3);
    of.seed = random.below(1000000);
    of.settings = drawn_settings(random, {"static_window", "none", "dcqcn", "hpcc95", "timely", "swift", "dctcp"});
    return of;
}

Partition draw_parts(test::Random& random, const Case& of) {
    Partition made;
    made.parts = static_cast<u32>(2 + random.below(4));
    made.part_of.assign(of.devices(), 0);
    for (u32 device = of.all_hosts(); device < of.devices(); ++device) {
        made.part_of[device] = static_cast<u8>(random.below(made.parts));
    }
    const FabricSpec fabric = fabric_of(of);
    const Transmission transmission(of.settings.ticks_per_ns());
    made.window = ~u64{0} >> 8;
    for (const LinkSpec& link : fabric.links) {
        if (made.part_of[link.from] != made.part_of[link.to]) {
            made.window = std::min(made.window, link.delay + transmission.ticks(pause_bytes, link.bits_per_s));
        }
    }
    return made;
}

void check_equal(const Driver& one, const Driver& other, const Case& of, u64 number) {
    check(one.heard() == other.heard(), "hosts hear something else, or in another order", number);
    check(one.busy() == other.busy(), "ports were busy for another time at an end", number);
    check(one.events() == other.events(), "other events are handled", number);
    check(one.totals().packets == other.totals().packets && one.totals().marked_acks == other.totals().marked_acks,
          "other packets", number);
    const std::size_t links = fabric_of(of).links.size();
    for (u32 link = 0; link < links; ++link) {
        const PortCount a = one.port(link);
        const PortCount b = other.port(link);
        check(a.packets == b.packets && a.bytes == b.bytes && a.queue_max_bytes == b.queue_max_bytes &&
                  a.pauses == b.pauses && a.resumes == b.resumes && a.paused_ticks == b.paused_ticks &&
                  a.marks == b.marks && a.busy_ticks == b.busy_ticks,
              "a port counts something else", number);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const u64 cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 60;
    test::Random random(51);
    u64 compared = 0;
    u64 at_ends = 0;
    u64 pauses = 0;
    for (u64 number = 0; number < cases; ++number) {
        const Case of = draw(random);
        Driver alone(of, {});
        alone.run();
        for (u32 link = 0; link < fabric_of(of).links.size(); ++link) {
            pauses += alone.port(link).pauses;
        }
        const Partition parts = draw_parts(random, of);
        Driver parted(of, parts);
        try {
            parted.run();
        } catch (const OneThread&) {
            continue;
        }
        check_equal(alone, parted, of, number);
        ++compared;
        at_ends += alone.busy().size();
    }
    std::printf("%llu of %llu runs in parts, %llu ports at ends, %llu pauses\n", static_cast<unsigned long long>(compared),
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(at_ends),
                static_cast<unsigned long long>(pauses));
    check(10 * compared >= 9 * cases, "many runs begin again", compared);
    check(pauses > 0 && at_ends > 0, "no port paused, or no account ended", pauses);
}
