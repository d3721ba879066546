// Port network: the analytical network of native scenarios; messages take turns on ranks' links.
//
// An uncontended message takes exactly the formula (analytical_formula.hpp). A port, one direction
// of a rank's link, carries one stream at its rate. A message holds each port for its bytes. Its
// head moves on once it has crossed (cut-through switching: Kermani and Kleinrock, "Virtual
// cut-through", Computer Networks 3, 1979) and queues in order of arrival. In one tick, a rank's
// messages go by tag, then by sending, and heads of several ranks share a port evenly, so that no
// time depends on rank numbers. At a port faster than the last, a message starts when it can pass
// without gaps. Trade-off: one more event for each tick with messages. Links between switches and
// buffers are unlimited, and senders never held back.
//
// In a folded run a port represents its class and may be held for messages in turn
// (network/held_links.hpp).
#pragma once

#include <unordered_map>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "base/vector.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"
#include "network/analytical_formula.hpp"
#include "network/held_links.hpp"
#include "network/network.hpp"
#include "network/ports_probe.hpp"

namespace yantra::inline YANTRA_RUN {

// Which ports are one in a folded run: by the classes of their ranks if messages cross only links
// of source and destination; else by classes of links.
struct PortClasses {
    const Vector<u32>* of_ranks = nullptr;   // by rank
    const Vector<u64>* ranks = nullptr;      // by class of ranks: how many
    const LinkClasses* of_links = nullptr;
    bool are_given() const { return of_ranks != nullptr || of_links != nullptr; }
    // `none` where no message passes.
    u32 of(u32 link, u32 dimension, u32 at, Block block) const {
        if (of_links != nullptr) {
            return of_links->class_of[link];
        }
        if (block != Block::ring && block != Block::switched) {
            return none;
        }
        return (dimension * static_cast<u32>(ranks->size()) + (*of_ranks)[at / 2]) * 2 + at % 2;
    }
};

class PortNetwork final : public NetworkModel, public FastPath, public HeldLinks, public RecurringState {
public:
    PortNetwork(const Grid& grid, TimeScale scale, Engine& engine, bool lowest_dimension_only,
                const PortClasses& classes = {});

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    NetworkCapabilities capabilities() override {
        NetworkCapabilities found{.fast_path = this};
        if (is_over_classes_) {
            found.recurring_state = this;
            found.held_links = this;
        }
        return found;
    }
    u32 only_link(RankId src, RankId dst) override;
    void send_over(u32, const Message& message, Notice arrived) override { send(message, arrived, {}); }
    void send_over_links(std::span<const OverLink> many, u64 bytes) override;
    void send_round(std::span<const OverLink> many, u64 bytes) override;
    u64 ticks_of_rounds(std::span<const OverLink> many, u64 bytes) override;
    void pass_rounds(std::span<const OverLink> many, u64 bytes, u64 rounds) override;

    // HeldLinks (ports_held.cpp).
    void tell(Holder& holder) override { holder_ = &holder; }
    u64 undisturbed(const Message& message) override;
    Departure departure(const Message& message) override;
    u32 learn(std::span<const MessagesInTurn> messages) override;
    bool hold(u32 learnt, u64 ticks, u32 name) override;
    void add(u32 learnt) override { ++turns_[learnt].holds; }
    void give_up(u32 learnt, std::span<const u64> through) override;
    void carry_on(const Message& message, Notice arrived, i64 since) override;

    Vector<LinkUse> what_repeats() const override;
    void repeat(const Vector<LinkUse>& before, u64 times) override;
    bool describe(Vector<u64>& words) const override;
    void leap(u64 ticks) override;

    Vector<LinkRecord> links() const override;
    Vector<LinkUse> dimensions() const override;
    NetworkReport report() override;
    // Includes holds.
    Vector<LinkUse> uses() const;
    static Vector<LinkRecord> records(const Grid& grid, const PortClasses& classes, const Vector<LinkUse>& uses);

private:
    enum Kind : u32 { settles, begins, comes };

    struct Port {
        u64 free = 0;        // tick at which all messages that came are through
        u64 held_until = 0;  // tick
        u32 held_by = none;
        u32 dimension = 0;
        u32 link = none;     // of a run of all ranks
        u32 coming = 0;      // messages sent that have not yet come to it
        u32 newcomers = 0;   // of this tick
        LinkUse use;
    };
    struct Transit {
        u64 bytes = 0;
        u64 arrives = 0;       // tick at which it arrives uncontended
        u64 ideal_begin = 0;   // tick at which its head and tail would cross the current port
        u64 ideal_tail = 0;
        u64 comes = 0;         // tick from which it may cross that port
        Links::Stop stop;      // where that port leads
        u32 dst = none;
        u32 port = none;
        u64 order = 0;
        bool passes = false;   // it has left its first port
        Notice arrived;
        Notice departed;
    };
    // The times of the last size.
    struct Times {
        u64 bytes = ~u64{0};
        u64 busy = 0;
    };
    // Over one link of the source and, with a switch, one of the destination.
    struct Hops {
        u32 dimension = none;
        u32 out = none;
        u32 in = none;        // none where one link is the whole way
        bool is_simple() const { return dimension != none; }
    };
    struct Gathered {
        Vector<u32> transits;
        bool several = false;   // to one port
    };
    struct Turn {
        Vector<MessagesInTurn> messages;
        Vector<Hops> hops;    // of each
        Vector<u64> busy;     // of each: ticks
        Vector<u32> ports;    // each once
        u64 holds = 0;        // not given up
    };

    u32 port_of(u32 link);
    u32 numbered(u32 link);
    u32 class_of(u32 link) const;
    u32 recorded(u32 port) const { return is_over_classes_ ? port : ports_[port].link; }
    bool is_port(u32 link, u32 dimension) const { return grid_.table(dimension) == nullptr || is_at_rank(link); }
    bool is_at_rank(u32 link) const;
    u32 routed_to(const Message& message) const;
    Hops hops_of(const Message& message);
    u64 busy_ticks(u32 dimension, u64 bytes) {
        Times& times = times_[dimension];
        if (times.bytes != bytes) [[unlikely]] {
            times = {bytes, scale_.ticks(static_cast<double>(bytes) / grid_.dimension(dimension).bytes_per_ns)};
        }
        return times.busy;
    }
    void carry(u32 port, u64 bytes, u64 times);
    void foresee(const Message& message, u32 dst);
    void meet(u32 port);
    void comes_new(u32 transit, Gathered& to);
    void settle_later();
    void settle();
    void serve(Gathered& gathered);
    void serve_one(u32 transit);
    void share(std::span<const u32> transits);
    void go_on(u32 transit, u64 begins_at, u64 tail);
    u32 take_transit(const Message& message, u32 dst, u64 begins_at);
    u64 lead_to(const Hops& hops) const { return hops.in == none ? 0 : latency_[hops.dimension]; }
    bool are_alone(std::span<const OverLink> many, u64 bytes);

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    AnalyticalFormula formula_;
    Links routes_;
    Vector<u32> first_link_;       // by dimension
    Vector<u64> latency_;          // by dimension: ticks
    Vector<Times> times_;          // by dimension
    PortClasses classes_;
    bool is_over_classes_;
    Vector<Port> ports_;
    Vector<u32> number_;           // by link, if few: its port, of a run of all ranks
    std::unordered_map<u32, u32> numbers_;   // the same if many
    Vector<LinkUse> use_;          // by dimension
    Pool<Transit> transits_;
    PortsProbe probe_;
    Gathered coming_;              // to their current ports
    Gathered landing_;             // began to cross to a switch; ports down to ranks are next
    Vector<u32> served_;
    Vector<Hops> hops_;            // for are_alone()
    bool is_settling_ = false;
    Vector<Turn> turns_;
    Holder* holder_ = nullptr;
};

}  // namespace yantra
