// Jobs on one switch or on two tiers, rings with steps that repeat, change or end, and timetables
// that return but for a few messages: what is heard, when, and what ports count is the same whether
// repeated steps, episodes that are known, or both are skipped, or neither.
#include "network/packet/episodes.hpp"

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

// A message by timetable.
struct Planned {
    u64 tick = 0;
    u32 host = 0;
    u32 far = 1;   // hosts
    u64 bytes = 1;
};

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
    u32 fan = 1;                          // messages of a step, to the next hosts; each is longer by
    u64 longer = 0;
    std::vector<Planned> timetable;       // instead of steps
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

    World(const Job& job, const Settings& settings, Episodes::Skips skips)
        : job_(job), settings_(settings), episodes_(fabric_of(job), settings, *this, {}, skips), simulator_(episodes_.simulator()), state_(job.hosts) {
        for (u32 host = 0; host < job.hosts; ++host) {
            for (u32 far = 1; far <= job.fan; ++far) {
                routes_.push_back(add_route(host, (host + far) % job.hosts));
                back_.push_back(add_route((host + far) % job.hosts, host));
            }
            if (job.timetable.empty()) {
                sends_.push({0, turn_++, host, 0});
            }
        }
        for (u32 at = 0; at < job.timetable.size(); ++at) {
            sends_.push({job.timetable[at].tick, turn_++, job.timetable[at].host, at});
        }
    }

    void run() {
        while (true) {
            const u64 network = episodes_.next_time();
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
            const auto until = [this] { return sends_.empty() ? ~u64{0} : std::get<0>(sends_.top()); };
            episodes_.run_to(now_, [this] { simulator_.step(); }, until);
            ran_at_ = now_;
            for (u32 host = 0; host < job_.hosts && settings_.congestion_control == "none"; ++host) {
                check(simulator_.senders().wake_timers[PortId(2 * host)] == none, "a sender waits for its pace", host);
            }
        }
        episodes_.end(now_);
        while (!simulator_.empty()) {
            simulator_.step();
        }
    }

    const Simulator& simulator() const { return simulator_; }
    std::vector<std::tuple<u64, u32, u32, u32, bool>> heard;

private:
    struct Flow {
        u32 host = 0;
        u32 step = 0;
        u32 far = 0;   // hosts
    };
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
        if (!job_.timetable.empty()) {
            send({host, step, job_.timetable[step].far}, job_.timetable[step].bytes);
            return;
        }
        for (u32 far = 1; far <= job_.fan; ++far, bytes += job_.longer) {
            send({host, step, far}, bytes);
        }
    }

    void send(const Flow& flow, u64 bytes) {
        const u32 route = flow.host * job_.fan + flow.far - 1;
        ++under_way_;
        episodes_.send({number_of(flow), bytes, routes_[route], back_[route], 0, 0, none, none, none,
                       job_.are_alike ? u16{0} : static_cast<u16>(flow.host)},
                      std::max(now_, simulator_.now()), ran_at_ == now_);
    }

    u32 number_of(const Flow& flow) {
        if (free_.empty()) {
            flows_.push_back(flow);
            return static_cast<u32>(flows_.size() - 1);
        }
        const u32 number = free_.back();
        free_.pop_back();
        flows_[number] = flow;
        return number;
    }

    void goes_on(u32 host) {
        if (!job_.timetable.empty()) {
            return;
        }
        OfHost& of = state_[host];
        const u32 may = (job_.waits_for_acks ? std::min(of.received, of.acknowledged) : of.received) / job_.fan;
        while (of.sent <= may && of.sent < job_.steps) {
            const u64 extra = of.sent % job_.period == 0 ? job_.extra : 0;
            sends_.push({now_ + job_.delays[host] + extra, turn_++, host, of.sent++});
        }
    }
    void received(u32 flow) override {
        const Flow of = flows_[flow];
        const u32 to = (of.host + of.far) % job_.hosts;
        heard.push_back({now_, of.host, of.step, of.far, false});
        ++state_[to].received;
        goes_on(to);
    }
    void completed(u32 flow) override {
        const Flow of = flows_[flow];
        heard.push_back({now_, of.host, of.step, of.far, true});
        ++state_[of.host].acknowledged;
        --under_way_;
        free_.push_back(flow);
        goes_on(of.host);
    }

    const Job job_;
    const Settings settings_;
    Episodes episodes_;
    Simulator& simulator_;
    std::vector<OfHost> state_;
    std::vector<u32> routes_;
    std::vector<u32> back_;
    std::vector<Flow> flows_;
    std::vector<u32> free_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> sends_;
    u64 now_ = 0;
    u64 ran_at_ = ~u64{0};
    u64 turn_ = 0;
    u32 under_way_ = 0;
};

u64 check_counts(const Simulator& one, const Simulator& other, u64 number) {
    u64 pauses = 0;
    for (u32 link = 0; link < one.ports().size(); ++link) {
        const PortCount a = count_of(one.ports()[link], one.now());
        const PortCount b = count_of(other.ports()[link], other.now());
        check(a.packets == b.packets && a.bytes == b.bytes && a.queue_max_bytes == b.queue_max_bytes &&
                  a.pauses == b.pauses && a.resumes == b.resumes && a.marks == b.marks &&
                  a.paused_ticks == b.paused_ticks && a.busy_ticks == b.busy_ticks,
              "a port counts something else", number);
        pauses += a.pauses;
    }
    check(one.totals().acks == other.totals().acks && one.totals().packets == other.totals().packets, "totals differ",
          number);
    // A pause leaves a stopped timer behind, which is an event if the run is long enough.
    check(pauses > 0 || one.events() == other.events(), "other events", number);
    return pauses;
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
    if (job.hosts > 2 && random.one_in(2)) {
        job.fan = static_cast<u32>(2 + random.below(job.hosts - 2));
        job.longer = random.one_in(2) ? 0 : random.below(5000);
    }
    return job;
}

Planned draw_planned(test::Random& random, const Job& job, u64 period) {
    const u64 bytes = 1 + random.below(random.one_in(3) ? 60'000 : 4'000);
    return {random.below(period), static_cast<u32>(random.below(job.hosts)),
            static_cast<u32>(1 + random.below(job.fan)), bytes};
}

// The same every period, but for one message of some. The first, at which states are compared, meets
// what the period before began.
Job draw_timetable(test::Random& random) {
    Job job;
    job.hosts = static_cast<u32>(3 + random.below(3));
    job.fan = job.hosts - 1;
    job.bits_per_s = (1 + random.below(4)) * 50'000'000'000;
    job.latency = 1000 * random.below(1000);
    job.are_alike = random.one_in(2);
    const u64 period = (random.one_in(2) ? 1 : 5) * (1'000'000 + random.below(4'000'000));   // with rests, or hardly any
    std::vector<Planned> each(2 + random.below(4));
    for (Planned& planned : each) {
        planned = draw_planned(random, job, period);
    }
    each[0].tick = 0;
    each[1].tick = period - 1 - random.below(1'000'000);
    for (u64 time = 0; time < 40; ++time) {
        std::vector<Planned> now = each;
        Planned& one = now[1 + random.below(now.size() - 1)];
        if (time < 30 && random.one_in(4)) {
            switch (random.below(4)) {
                case 0: one = draw_planned(random, job, period); break;
                case 1: one.bytes = 1 + random.below(2 * one.bytes); break;
                case 2: one.tick = one.tick / 2 + random.below(period / 2); break;
                case 3: now.push_back(draw_planned(random, job, period)); break;
            }
        }
        for (Planned& planned : now) {
            planned.tick += time * period;
            job.timetable.push_back(planned);
        }
    }
    return job;
}

// Long messages, so that packets move as those before; some begin while others are under way.
Job draw_streams(test::Random& random) {
    Job job;
    job.hosts = static_cast<u32>(2 + random.below(3));
    job.fan = job.hosts - 1;
    job.bits_per_s = (1 + random.below(4)) * 100'000'000'000;
    job.latency = 1000 * random.below(300);
    job.are_alike = random.one_in(2);
    const u64 bytes = 1'000'000 + random.below(12'000'000);
    for (u32 host = 0; host < job.hosts; ++host) {
        job.timetable.push_back({random.one_in(2) ? 0 : random.below(3'000'000), host,
                                 random.one_in(4) ? static_cast<u32>(1 + random.below(job.fan)) : 1,
                                 random.one_in(3) ? 1 + random.below(2 * bytes) : bytes});
    }
    for (u64 more = random.below(4); more > 0; --more) {
        job.timetable.push_back({random.below(300'000'000), static_cast<u32>(random.below(job.hosts)),
                                 static_cast<u32>(1 + random.below(job.fan)), 1 + random.below(bytes)});
    }
    return job;
}

// That hosts fill, so that they pause.
u64 small_buffer(test::Random& random, const Job& job) {
    const u64 flight = job.bits_per_s / 1'000'000'000 * job.latency / 8000;
    return (job.hosts + 1) * (3 * flight + 7000) + random.below(10'000);
}

struct Skipped {
    u64 packets = 0;
    u64 pauses = 0;   // in cases that skip
};

void check_as_plain(const World& plain, const Job& job, const Settings& settings, Episodes::Skips skips, Skipped& all,
                    u64 number) {
    World other(job, settings, skips);
    other.run();
    check(plain.heard == other.heard, "something else is heard", number);
    const u64 pauses = check_counts(plain.simulator(), other.simulator(), number);
    all.packets += other.simulator().totals().skipped;
    all.pauses += other.simulator().totals().skipped > 0 ? pauses : 0;
}

}  // namespace

int main(int count, char** arguments) {
    const u64 cases = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 300;
    test::Random random(51);
    u64 packets = 0;
    u64 packets_of_streams = 0;
    Skipped by_repeats;
    Skipped by_episodes;
    Skipped by_both;
    Skipped of_streams;
    for (u64 number = 0; number < cases; ++number) {
        const bool streams = number % 6 == 5;
        const Job job = streams ? draw_streams(random) : number % 2 == 1 ? draw_timetable(random) : draw(random);
        const bool paces = random.one_in(4);
        Settings settings =
            settings_of(paces ? (random.one_in(2) ? "dcqcn" : "swift") : random.one_in(2) ? "static_window" : "none", 400.0, "", {});
        settings.acks_first = random.one_in(2);
        settings.payload_bytes = streams ? std::vector<u32>{1000, 1024, 4096, 1536}[random.below(4)] : 1000;
        if (!job.timetable.empty() && !streams && random.one_in(2)) {
            settings.buffer_bytes = small_buffer(random, job);
        }
        World plain(job, settings, {});
        plain.run();
        (streams ? packets_of_streams : packets) += plain.simulator().totals().packets;
        Skipped none_of_it;
        check_as_plain(plain, job, settings, {true, false}, streams ? none_of_it : by_episodes, number);
        if (Repeats::refusal(settings).empty()) {
            check_as_plain(plain, job, settings, {false, true}, streams ? of_streams : by_repeats, number);
            check_as_plain(plain, job, settings, {true, true}, streams ? none_of_it : by_both, number);
        }
    }
    const auto told = [&](const char* what, u64 skipped, u64 of) {
        std::printf("%s: %llu of %llu packets skipped\n", what, static_cast<unsigned long long>(skipped),
                    static_cast<unsigned long long>(of));
        check(10 * skipped > of, "hardly anything was skipped", cases);
    };
    told("repeats", by_repeats.packets, packets);
    told("episodes", by_episodes.packets, packets);
    told("both", by_both.packets, packets);
    told("streams", of_streams.packets, packets_of_streams);
    check(by_repeats.pauses + by_episodes.pauses + by_both.pauses > 0, "nothing was skipped where ports pause", cases);
}
