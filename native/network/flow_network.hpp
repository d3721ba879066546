// Flow network: messages share links max-min fairly, without packets or queues: a fabric at best.
//
// A message waits out its way's latency holding nothing, then holds all links until its bytes are
// through (network/flow/sharing.hpp). Its sender is done a latency earlier, when the rest is under
// way at the present rate. `rtt_fairness` weighs by 1 / round trip. For routings by packet, a
// message is parts, each on its way.
//
// Links may change rate. Messages on a failed link wait; after the rerouting delay they go on by
// another way, if any, with their remaining bytes.
//
// A tick's happenings are gathered and done in fixed order (ends, entries, questions), so event
// order does not matter. Trade-off: each change costs a solve of what it can reach; queues never
// delay.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "base/never.hpp"
#include "base/number_map.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "network/flow/sharing.hpp"
#include "network/held_links.hpp"
#include "network/known_ways.hpp"
#include "network/network.hpp"
#include "network/ways.hpp"
#include "network/ways_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class FlowNetwork final : public NetworkModel, public HeldLinks, private LinkLoads {
public:
    struct Options {
        bool rtt_fairness = false;
        u32 parts = 1;   // of a message, for routings by packet
        bool in_order = false;   // all messages between two places go one by one, not only a collective's
    };

    FlowNetwork(const NetworkSetup& setup, std::unique_ptr<Ways> ways, Options options);

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    NetworkCapabilities capabilities() override { return {.held_links = is_over_classes_ ? this : nullptr}; }
    void tell(Holder& holder) override { holder_ = &holder; }
    u64 undisturbed(const Message& message) override;
    u32 learn(std::span<const MessagesInTurn> messages) override;
    bool hold(u32 learnt, u64 ticks, u32 name) override;
    void add(u32 learnt) override { ++turns_[learnt].holds; }
    void give_up(u32 learnt, std::span<const u64> through) override;
    void carry_on(const Message& message, Notice arrived, i64 since) override;
    Vector<LinkRecord> links() const override { return ways_->records(rounded_use()); }
    Vector<LinkUse> dimensions() const override { return ways_->uses(rounded_use()); }
    NetworkReport report() override {
        return {ways_->busiest(rounded_use()), disturbance_, transits_.taken(), nullptr};
    }

private:
    static constexpr double no_end_ns = std::numeric_limits<double>::infinity();

    enum Kind : u32 { enters, leaves, ends, settles, changes, reroutes, background, formula };

    struct Transit {
        u32 first_part = none;
        u32 parts_left = 0;
        Notice arrived;
        Notice departed;       // none once it has
        bool is_asking = false;    // an event will ask whether it has left
        bool has_arrived = false;
        bool was_rerouted = false;
        bool has_waited = false;   // for a link that was down
    };
    struct Part {
        u32 transit = none;
        u32 from = 0;          // places
        u32 to = 0;
        u32 packet = 0;
        u32 next = none;       // of the transit
        u32 route = none;
        u32 flow = none;       // while it holds links
        u64 bytes = 0;
        u64 order = 0;         // of its message: order within a tick
        double enters_ns = 0.0;
        u64 entered = 0;       // tick
        u64 waits_since = never;   // tick, for a link that is down
        bool is_over = false;
        bool is_sending = false;   // its sender has not heard that it left: counted in sent_over_
        bool by_formula = false;   // holds its links without sharing them
        bool is_in_line = false;   // others between the same two places wait for it
        u32 behind = none;     // next part in the line
    };
    struct Line {
        u64 came = never;          // tick, the last of them
        u64 order = 0;             // and of it
        u32 first = none;          // parts that wait
        u32 last = none;
    };
    // Messages not known to have left; on the route they count as one.
    struct Sent {
        u32 count = 0;
        u32 route = none;
    };
    // None if all its links are infinitely fast.
    struct Route {
        u32 of_class = none;
        double bytes_per_ns = 0.0;   // where it is narrowest
        double alike_bytes_per_ns = 0.0;   // and of each of the flows alike
    };

    // By link.
    struct Uses {
        Vector<LinkUse> whole;
        Vector<double> divided_bytes;   // of flows of which it carries a part
    };
    struct Held {
        u64 until = 0;   // tick
        u32 name = none;
    };
    struct Turn {
        struct Messages {
            u32 route = none;
            u64 bytes = 0;
            u64 times = 0;
        };
        Vector<Messages> messages;
        Vector<u32> links;   // each once
        u64 holds = 0;            // that have not been given up
    };
    // If it shares no link.
    struct Alone {
        double transfer_ns = 0.0;
        double latency_ns = 0.0;
    };

    // In flow_network_routes.cpp, like busy() and note_carried().
    double load(u32 link) const override;
    bool goes_by_formula(u32 link) const {
        return !formula_groups_.empty() && formula_groups_[ways_->group(link)];
    }
    u32 route_of(u32 from, u32 to, u32 packet);
    u32 known_route(const Way& way);
    void add_route(const Way& way);
    void carry(u32 route, i64 bytes, u64 messages, Uses& uses) const;
    Vector<LinkUse> rounded_use() const;
    // In flow_network_held.cpp.
    u64 alone_ticks(u32 route, u64 bytes) const;
    void carry_alone(u32 route, u64 bytes, u64 times, Uses& uses) const;
    void meet(u32 route);
    void note_under_way(u32 route, i32 change) {
        for (std::size_t at = 0; is_over_classes_ && at < known_ways_.links(route).size(); ++at) {
            under_way_over_[known_ways_.links(route)[at]] += static_cast<u32>(change);
        }
    }
    u32 parts_of(u64 bytes) const;
    Alone send_parts(u32 transit, u32 from, u32 to, u64 bytes, u64 order);
    void send_part(const Part& part);
    // In flow_network_background.cpp.
    void start_background();
    void schedule_background();
    void send_in_background(const BackgroundFlow& flow);
    void stop_background(u64 tick);
    void stop_part(u32 part, double now_ns, u64 tick);
    static bool is_background(const Transit& transit) { return transit.arrived.kind.is_none(); }
    // The next five are in flow_network_changes.cpp.
    void change_links();
    void catch_up();
    void watch(u32 part);
    void reroute();
    void take_another_way(u32 part);
    bool crosses(u32 route, const std::vector<bool>& some) const;
    bool is_cut(u32 route) const { return crosses(route, is_avoided_); }
    void enter_all();
    void enter(u32 part, double start_ns);
    void begin(u32 part, double start_ns);
    void is_flow(u32 part, u32 flow);
    // In flow_network_order.cpp.
    bool waits_in_line(u32 part);
    void next_in_line(u32 part);
    void has_its_line(u32 part);
    bool follows(const Part& part) const { return options_.in_order || static_cast<u32>(part.order) != 0; }
    u64 line_of(const Part& part) const;
    void end(double until_ns);
    void arrive(u32 part);
    void ask(u32 transit);
    void answer(u32 transit);
    void depart(Transit& transit);
    void settle();
    void settle_later();
    void count_sent(Part& part, bool is_sending);
    u32 changes_line(const Part& part, bool is_sending);
    double leaves_ns(const Part& part);
    void busy(u32 route, i32 change, u64 tick);
    void note_carried(u32 part, u64 bytes, u64 until);
    double now_ns() const { return static_cast<double>(queue_.now()) / ticks_per_ns_; }
    u64 tick_of(double ns) const { return std::max(scale_.ticks(ns + nudge_ns_), queue_.now()); }

    const Vector<LinkChange>& changes_;
    const Vector<BackgroundFlow>& background_;
    const std::vector<bool>& formula_groups_;   // by group; may be empty
    const u64 reroute_delay_;
    std::unique_ptr<Ways> ways_;
    TimeScale scale_;
    double ticks_per_ns_;
    double nudge_ns_;
    EventQueue& queue_;
    const Engine& engine_;
    Options options_;
    FlowSharing sharing_;
    WaysProbe probe_;
    Uses uses_;
    Vector<u32> flows_over_;
    Vector<u64> busy_since_;
    KnownWays known_ways_;
    HugeVector<Route> routes_;        // by known way
    NumberMap<u32> route_of_pair_;
    NumberMap<Line> lines_;
    NumberMap<Sent> sent_in_line_;
    Pool<Transit> transits_;
    Pool<Part, Freed::readable> parts_;   // whether they are over
    u32 parts_made_ = 0;
    Vector<u32> part_of_;             // by flow
    Way way_;
    Vector<u32> entering_;            // parts, in this tick
    Vector<u32> asking_;              // transits, in this tick
    Vector<u32> ended_;
    u32 wake_ = 0;                         // number of the last event for ends; older ones are void
    std::vector<bool> is_down_;            // by link; may be empty
    std::vector<bool> is_avoided_;         // by link, as of the last reroute
    std::size_t next_background_ = 0;
    bool background_rests_ = false;        // none is scheduled, as all work is done
    bool background_is_over_ = false;      // as it is
    u32 next_change_ = 0;
    bool is_resting_ = false;              // no change is scheduled, as nothing is under way
    u64 under_way_ = 0;                    // messages
    Disturbance disturbance_;
    bool is_settling_ = false;
    Vector<double> sent_over_;             // by link: flows of parts that have not left, including latency
    const bool is_parted_;                 // messages go in parts, each its way
    const bool is_over_classes_;           // links stand for classes
    Vector<u32> under_way_over_;      // by link, over classes only: messages
    Vector<Held> held_;               // the same
    Vector<Turn> turns_;
    Holder* holder_ = nullptr;
    double next_end_ns_;                   // by the last solve
};

}  // namespace yantra
