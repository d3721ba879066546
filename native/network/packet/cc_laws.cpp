#include "network/packet/cc_laws.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "network/packet/presets.hpp"
#include "network/packet/simulator.hpp"

namespace yantra::packet {

namespace {

constexpr u32 trial_hosts = 5;
constexpr u32 trial_receiver = 0;
constexpr double trial_gbps = 100.0;
constexpr u64 trial_bits_per_s = 100000000000;
constexpr double latency_ns = 1000.0;
constexpr u64 trial_patience = 200;        // times the time on the line
constexpr u64 most_left = 100000;    // events after the last flow
constexpr u64 most_apart = 8;
constexpr u64 trial_bytes = 400000;
constexpr u64 rates_every = 64;       // events between two looks at rates
constexpr u64 long_bytes = 20000000;
constexpr u64 most_slowed = 3;
constexpr u32 many_flows = 128;
constexpr u64 most_endured = 100000;   // events
constexpr double kmin_bytes = 10000.0;   // of marks, where a scheme sets none
constexpr double kmax_bytes = 20000.0;

// Link 2 h goes from host h to the switch, 2 h + 1 back.
FabricSpec star_of(const Settings& settings) {
    FabricSpec fabric;
    fabric.is_host.assign(trial_hosts + 1, true);
    fabric.is_host[trial_hosts] = false;
    const u64 delay = static_cast<u64>(latency_ns) * settings.ticks_per_ns();
    for (u32 host = 0; host < trial_hosts; ++host) {
        fabric.links.push_back({host, trial_hosts, trial_bits_per_s, delay, 2 * host + 1});
        fabric.links.push_back({trial_hosts, host, trial_bits_per_s, delay, 2 * host});
    }
    return fabric;
}

class FlowTrial final : public Observer {
public:
    explicit FlowTrial(const Settings& settings)
        : ticks_per_ns_(settings.ticks_per_ns()), simulator_(star_of(settings), settings, *this) {}

    // Returns their times in ns. Sets `broken` if a law is broken.
    std::vector<u64> send(u32 count) {
        const u64 start = simulator_.now();
        const u32 first = static_cast<u32>(ends_.size());
        for (u32 flow = 0; flow < count; ++flow) {
            add(1 + flow, trial_bytes);
        }
        run_until(start + trial_patience * line_ns(count * trial_bytes) * ticks_per_ns_);
        std::vector<u64> took;
        for (u32 flow = first; flow < ends_.size() && left_ == 0; ++flow) {
            took.push_back((ends_[flow] - start) / ticks_per_ns_);
        }
        return took;
    }

    void outlast() {
        add(1, long_bytes);
        for (u32 host = 2; host < trial_hosts; ++host) {
            add(host, trial_bytes);
        }
        run_until(patient(trial_hosts * long_bytes), 1);
        if (!broken.empty() || simulator_.senders()[SenderId(0)].has_ended) {
            return;
        }
        const u64 alone_from = simulator_.now();
        const u64 rest = long_bytes - std::min(long_bytes, simulator_.senders()[SenderId(0)].acknowledged);
        run_until(patient(trial_hosts * long_bytes));
        const u64 took = (simulator_.now() - alone_from) / ticks_per_ns_;
        const u64 most = most_slowed * line_ns(rest);
        if (broken.empty() && rest > trial_bytes && took > most) {
            breaks("it_speeds_up_again: alone again, a flow takes " + std::to_string(took) + " ns for the last " +
                   std::to_string(rest) + " bytes, which the line carries in " + std::to_string(line_ns(rest)));
        }
    }

    void endure() {
        for (u32 flow = 0; flow < many_flows; ++flow) {
            add(1 + flow % (trial_hosts - 1), trial_bytes);
        }
        for (u64 events = 0; left_ > 0 && !simulator_.empty() && broken.empty() && events < most_endured; ++events) {
            simulator_.step();
            check_windows();
            check_rates();
        }
    }

    void settle() {
        u64 events = 0;
        for (; !simulator_.empty() && events < most_left; ++events) {
            simulator_.step();
        }
        if (!simulator_.empty()) {
            breaks("timers_end_with_their_flow: " + std::to_string(events) +
                   " events after the last flow has ended there are still some to come");
        }
    }

    std::string broken;

private:
    static constexpr u64 none_yet = ~u64{0};

    void received(u32) override {}
    void completed(u32 flow) override {
        ends_[flow] = simulator_.now();
        --left_;
    }

    static u64 line_ns(u64 bytes) { return bytes * 8 / static_cast<u64>(trial_gbps); }
    u64 patient(u64 bytes) const { return simulator_.now() + trial_patience * line_ns(bytes) * ticks_per_ns_; }

    void add(u32 host, u64 bytes) {
        const std::vector<u32> there = {2 * host, 2 * trial_receiver + 1};
        const std::vector<u32> back = {2 * trial_receiver, 2 * host + 1};
        simulator_.send({static_cast<u32>(ends_.size()), bytes, simulator_.add_route(there), simulator_.add_route(back), 0,
                         0, host, trial_receiver},
                        simulator_.now());
        ends_.push_back(none_yet);
        ++left_;
    }

    void breaks(const std::string& what) { broken = broken.empty() ? what : broken; }

    void run_until(u64 tick, u32 left = 0) {
        for (u64 events = 0; left_ > left && broken.empty(); ++events) {
            if (simulator_.empty() || simulator_.now() > tick) {
                breaks("all_flows_end: " + std::to_string(left_) + " of " + std::to_string(ends_.size()) +
                       " flows have not ended after " + std::to_string(simulator_.now() / ticks_per_ns_ / 1000) + " us" +
                       (simulator_.empty() ? ", and nothing is left to happen" : ""));
                return;
            }
            simulator_.step();
            check_windows();
            if (events % rates_every == 0) {
                check_rates();
            }
        }
    }

    void check_windows() {
        windowed_.resize(simulator_.senders().count(), none);
        for (u32 sender = 0; sender < simulator_.senders().count(); ++sender) {
            const Sender& flow = simulator_.senders()[SenderId(sender)];
            if (flow.has_ended) {
                continue;
            }
            if (flow.window_now == 0 && windowed_[sender] == flow.serial) {
                breaks("a_window_stays_a_window: the window of a flow falls to 0 bytes, which is no window at all");
            }
            if (flow.window_now != 0) {
                windowed_[sender] = flow.serial;
            }
        }
    }

    void check_rates() {
        for (u32 sender = 0; sender < simulator_.senders().count(); ++sender) {
            const Sender& flow = simulator_.senders()[SenderId(sender)];
            if (!flow.has_ended && (flow.rate == 0 || flow.rate > flow.line_rate)) {
                breaks("rates_are_of_the_line: a flow over a link of " + std::to_string(flow.line_rate) +
                       " bit/s has a rate of " + std::to_string(flow.rate));
            }
        }
    }

    const u64 ticks_per_ns_;
    Simulator simulator_;
    std::vector<u64> ends_;   // by flow
    std::vector<u32> windowed_;   // by sender: the serial of the last flow that had a window
    u32 left_ = 0;
};

std::string run_flows(const Settings& settings, const std::vector<u32>& counts, std::vector<std::vector<u64>>& took) {
    FlowTrial trial(settings);
    for (const u32 count : counts) {
        took.push_back(trial.send(count));
        if (trial.broken.empty()) {
            trial.settle();
        }
        if (!trial.broken.empty()) {
            return trial.broken;
        }
    }
    return "";
}

std::string check_pace(const std::vector<std::vector<u64>>& took) {
    const auto [least, most] = std::minmax_element(took[1].begin(), took[1].end());
    if (*most > most_apart * *least) {
        return "nobody_starves: of " + std::to_string(took[1].size()) + " equal flows one takes " +
               std::to_string(*least) + " ns and one " + std::to_string(*most);
    }
    const u64 before = took[0][0];
    const u64 after = took[2][0];
    if (10 * after > 11 * before || 11 * after < 10 * before) {
        return "a_place_begins_anew: a flow alone takes " + std::to_string(before) + " ns, and " +
               std::to_string(after) + " in a place that others had before";
    }
    return "";
}

std::string run_beside_others(Settings settings) {
    if (settings.limits.empty()) {
        settings.limits = {{trial_gbps, kmin_bytes, kmax_bytes, 1.0}};
    }
    FlowTrial trial(settings);
    trial.outlast();
    if (!trial.broken.empty()) {
        return trial.broken;
    }
    settings.limits = {{trial_gbps, 0.0, 1.0, 1.0}};   // all of them
    FlowTrial marked(settings);
    marked.endure();
    return marked.broken;
}

}  // namespace

std::string broken_law(const Scheme& scheme) {
    Settings settings = settings_of(preset_of(scheme.name), trial_gbps, scheme.name);
    std::vector<std::vector<u64>> took;
    std::vector<std::vector<u64>> again;
    const std::vector<u32> counts = {1, trial_hosts - 1, 1};
    std::string broken = run_flows(settings, counts, took);
    if (broken.empty()) {
        broken = check_pace(took);
    }
    if (broken.empty()) {
        broken = run_flows(settings, counts, again);
    }
    if (broken.empty() && took != again) {
        broken = "equal_runs_are_equal: flows end at other ticks when they are run again";
    }
    if (!broken.empty()) {
        return broken;
    }
    broken = run_beside_others(settings);
    if (!broken.empty()) {
        return broken;
    }
    settings.pauses = false;
    settings.buffer_bytes = 100000;   // packets beyond that are lost
    return run_flows(settings, {trial_hosts - 1}, took);
}

}  // namespace yantra::packet
