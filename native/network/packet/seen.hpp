// Seen: what a run of packets records: samples of ports and rates (network/packet/samples.hpp), and
// each flow. Times are the simulator's ticks.
#pragma once

#include <algorithm>
#include <vector>

#include "base/blocks.hpp"
#include "base/types.hpp"
#include "network/packet/port.hpp"
#include "network/packet/samples.hpp"
#include "network/packet/sender.hpp"

namespace yantra::packet {

struct PortRow {
    u64 tick = 0;
    u64 sent_bytes = 0;    // with headers, of packets whose transmission has begun
    u64 paused_ticks = 0;
    u64 paused_since = ~u64{0};   // ~0: it is not paused
    u32 queue_bytes = 0;   // that wait, up to 4 GB
    u32 subject = none;    // link
    u32 marks = 0;
    u32 drops = 0;         // of what came over the link

    bool is_paused() const { return paused_since != ~u64{0}; }
    void at(u64 now) {
        tick = now;
        paused_ticks += is_paused() && now > paused_since ? now - paused_since : 0;
    }
};

struct RateRow {
    u64 tick = 0;
    u64 bits_per_s = 0;
    u64 window_bytes = 0;  // 0 for none
    u32 subject = none;    // row of the flow

    void at(u64 now) { tick = now; }
};

struct SweepRow {
    u64 tick = 0;
    u32 link = none;
    u32 bytes = 0;
};

struct SeenFlow {
    u32 source = none;     // as the caller numbers them
    u32 destination = none;
    u64 bytes = 0;
    u64 start = 0;
    u64 arrived = ~u64{0}; // the receiver had all of it
    u64 completed = ~u64{0};   // the sender had the last ACK
    u64 alone = 0;         // ticks from start to arrival, alone at the line's rate and without a scheme's headers
    u64 resent = 0;        // bytes
};

struct Totals {
    u64 packets = 0;       // sent by any port
    u64 data_packets = 0;
    u64 acks = 0;
    u64 nacks = 0;
    u64 marked_acks = 0;
    u64 drops = 0;
    u64 trims = 0;
    u64 grants = 0;        // packets of credit
    u64 timeouts = 0;
    u64 timeouts_without_loss = 0;   // those before anything was dropped or a link failed
    u64 skipped = 0;       // of `packets`: known from steps before (network/packet/repeats.hpp)
};

inline void add_to(Totals& to, const Totals& of) {
    to.packets += of.packets;
    to.data_packets += of.data_packets;
    to.acks += of.acks;
    to.nacks += of.nacks;
    to.marked_acks += of.marked_acks;
    to.drops += of.drops;
    to.trims += of.trims;
    to.grants += of.grants;
    to.timeouts += of.timeouts;
    to.timeouts_without_loss += of.timeouts_without_loss;
    to.skipped += of.skipped;
}

struct PortCount {
    u64 packets = 0;
    u64 bytes = 0;
    u64 queue_max_bytes = 0;
    u64 pauses = 0;
    u64 resumes = 0;
    u64 marks = 0;
    u64 drops = 0;
    u64 paused_ticks = 0;
    u64 busy_ticks = 0;
};

// Of what two ends of a link count.
inline void add_to(PortCount& to, const PortCount& of) {
    to.packets += of.packets;
    to.bytes += of.bytes;
    to.queue_max_bytes = std::max(to.queue_max_bytes, of.queue_max_bytes);
    to.pauses += of.pauses;
    to.resumes += of.resumes;
    to.marks += of.marks;
    to.drops += of.drops;
    to.paused_ticks += of.paused_ticks;
    to.busy_ticks += of.busy_ticks;
}

inline PortCount count_of(const Port& port, u64 now) {
    const u64 open = port.is_paused ? now - port.paused_since : 0;
    return {port.packets, port.sent_bytes, port.queue_max, port.pauses,           port.resumes,
            port.marks,   port.drops,      port.paused_ticks + open, port.busy_ticks};
}

inline constexpr std::size_t most_samples = std::size_t{1} << 18;
inline constexpr std::size_t most_changes = std::size_t{1} << 25;   // 1.6 GB
inline constexpr double first_every_ns = 100.0;

class Seen {
public:
    explicit Seen(const Settings& settings)
        : looks_(settings.look != Look::nothing),
          ticks_per_ns_(settings.ticks_per_ns()),
          ports_(every_of(settings), most_rows(settings)),
          rates_(every_of(settings), most_rows(settings)) {}

    bool looks() const { return looks_; }
    u64 ticks_per_ns() const { return ticks_per_ns_; }
    const Samples<PortRow>& ports() const { return ports_; }
    const std::vector<PortRow>& present() const { return present_; }
    const Samples<RateRow>& rates() const { return rates_; }
    const Blocks<SeenFlow>& flows() const { return flows_; }
    const Blocks<SweepRow>& sweeps() const { return sweeps_; }
    const std::vector<PortCount>& counts() const { return counts_; }
    const Totals& totals() const { return totals_; }

    void begin(Port& port, u32 link, u64 now) {
        if (looks_) {
            port.next_look = ports_.begin(link, now);
        }
    }
    u32 begin(const SeenFlow& flow) {
        flows_.push_back(flow);
        return static_cast<u32>(flows_.size() - 1);
    }
    void begin(Sender& sender, u64 now) {
        if (looks_) {
            sender.next_look = rates_.begin(sender.seen, now);
        }
    }

    void swept(u32 link, u64 bytes, u64 now) {
        sweeps_.push_back({now, link, saturated(bytes)});
        if (sweeps_.size() >= most_changes) [[unlikely]] {
            throw Unsupported("network.sweep_every: more than " + std::to_string(most_changes) +
                              " queues that wait; sweep less often, or look at a smaller run");
        }
    }

    // Call before they change.
    void note(Port& port, u32 link, u64 now) {
        if (ports_.every() == 0 && port.is_as_noted()) {
            port.next_look = ports_.pass(link, now);
            return;
        }
        port.next_look = ports_.note(row_of(port, link), now);
        port.is_noted();
    }
    void note(Sender& sender, u64 now) {
        sender.next_look = rates_.note(row_of(sender), now);
        sender.was_looked_at = true;
    }

    void arrived(const Sender& sender, u64 now) {
        if (looks_) {
            flows_[sender.seen].arrived = now;
        }
    }
    void completed(Sender& sender, u64 now) {
        if (!looks_) {
            return;
        }
        SeenFlow& flow = flows_[sender.seen];
        flow.completed = now;
        flow.resent = sender.resent;
        if (sender.was_looked_at || sender.rate != sender.line_rate) {
            rates_.end(row_of(sender), now);
        }
        sender.next_look = ~u64{0};
    }
    // Busy times are known when the run is over.
    void update(const HugeVector<Port>& ports, const Totals& totals, u64 now, const std::vector<u64>& busy_ticks) {
        totals_ = totals;
        counts_.clear();
        present_.clear();
        for (u32 link = 0; link < ports.size(); ++link) {
            counts_.push_back(count_of(ports[link], now));
            if (!busy_ticks.empty()) {
                counts_.back().busy_ticks = busy_ticks[link];
            }
            if (looks_ && ports[link].packets > 0) {
                present_.push_back(ports_.present(row_of(ports[link], link), now));
            }
        }
    }

private:
    static std::size_t most_rows(const Settings& settings) {
        return settings.look == Look::changes ? most_changes : most_samples;
    }
    static u64 every_of(const Settings& settings) {
        if (settings.look == Look::changes) {
            return 0;
        }
        const double ns = settings.look_every_ns > 0.0 ? settings.look_every_ns : first_every_ns;
        return std::max<u64>(1, static_cast<u64>(ns * static_cast<double>(settings.ticks_per_ns()) + 0.5));
    }
    static u32 saturated(u64 value) { return static_cast<u32>(std::min<u64>(value, none)); }
    static PortRow row_of(const Port& port, u32 link) {
        return {0,
                port.sent_bytes,
                port.paused_ticks,
                port.is_paused ? port.paused_since : ~u64{0},
                saturated(port.queue_bytes),
                link,
                saturated(port.marks),
                saturated(port.drops)};
    }
    static RateRow row_of(const Sender& sender) {
        return {0, sender.rate, sender.window_now, sender.seen};
    }

    bool looks_;
    u64 ticks_per_ns_;
    Samples<PortRow> ports_;
    Samples<RateRow> rates_;
    Blocks<SeenFlow> flows_;
    Blocks<SweepRow> sweeps_;
    std::vector<PortCount> counts_;   // by link
    std::vector<PortRow> present_;    // after the rows of `ports_`
    Totals totals_;
};

}  // namespace yantra::packet
