// Port network: the analytical network of native scenarios; messages take turns on ranks' links,
// cut-through (Kermani and Kleinrock, Computer Networks 3, 1979); an uncontended one takes exactly
// the formula (analytical_formula.hpp). A port faster than one before is held at the end of what it
// waits for, the head goes on before; so a port's time may begin in the past, where it was idle. In one tick a rank's go by tag, then by sending; several
// ranks share a port evenly. Trade-off: buffers and links between switches are unlimited.
#pragma once

#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/pool.hpp"
#include "base/variant.hpp"
#include "engine/engine.hpp"
#include "fabric/grid.hpp"
#include "fabric/links.hpp"
#include "network/analytical_formula.hpp"
#include "network/held_links.hpp"
#include "network/network.hpp"
#include "network/port_table.hpp"
#include "network/ports_probe.hpp"

namespace yantra::inline YANTRA_RUN {

class PortNetwork final : public NetworkModel, public FastPath, public HeldLinks, public RecurringState {
public:
    PortNetwork(const Grid& grid, TimeScale scale, Engine& engine, bool lowest_dimension_only,
                const PortClasses& classes = {});

    void send(const Message& message, Notice arrived, Notice departed) override;
    void handle(const Event& event) override;
    NetworkCapabilities capabilities() override {
        NetworkCapabilities found{.fast_path = this};
        if (ports_.are_classes()) {
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

    std::vector<LinkUse> what_repeats() const override;
    void repeat(const std::vector<LinkUse>& before, u64 times) override;
    bool describe(std::vector<u64>& words) const override;
    void leap(u64 ticks) override;

    // See PortTable::records_of().
    std::vector<LinkRecord> links() const override {
        return ports_.are_classes() ? std::vector<LinkRecord>() : ports_.records();
    }
    std::vector<LinkUse> dimensions() const override;
    NetworkReport report() override;
    // Includes holds.
    std::vector<LinkUse> uses() const;

private:
    using Hops = PortTable::Hops;

    enum Kind : u32 { settles, begins, comes };

    struct Transit {
        u64 bytes = 0;
        u64 arrives = 0;       // tick at which it arrives uncontended
        u64 ideal_head = 0;    // ticks at which its head would come to the current port, its tail leave
        u64 ideal_tail = 0;
        u64 head = 0;          // tick at which its head comes to that port
        u64 comes = 0;         // tick from which it may cross that port in one piece, no earlier
        Links::Stop stop;      // where that port leads
        u32 dst = none;
        u32 port = none;
        u64 order = 0;
        bool passes = false;   // it has left its first port
        Notice arrived;
        Notice departed;
    };
    struct Gathered {
        std::vector<u32> transits;
        bool several = false;   // to one port
    };
    struct Turn {
        std::vector<MessagesInTurn> messages;
        std::vector<Hops> hops;    // of each
        std::vector<u64> busy;     // of each: ticks
        std::vector<u32> ports;    // each once
        u64 holds = 0;        // not given up
    };

    u32 routed_to(const Message& message) const;
    Hops hops_of(const Message& message) {
        return ports_.hops(message.src.index(), routed_to(message));
    }
    void foresee(const Message& message, u32 dst);
    void meet(u32 port);
    void comes_new(u32 transit, Gathered& to);
    void settle_later();
    void settle();
    void serve(Gathered& gathered);
    void serve_one(u32 transit);
    void share(std::span<const u32> transits);
    void go_on(u32 transit, u64 head, u64 begins_at, u64 tail);
    u32 take_transit(const Message& message, u32 dst, u64 begins_at);
    bool are_alone(std::span<const OverLink> many, u64 bytes);

    const Grid& grid_;
    TimeScale scale_;
    EventQueue& queue_;
    AnalyticalFormula formula_;
    PortTable ports_;
    std::vector<LinkUse> use_;          // by dimension
    Pool<Transit> transits_;
    PortsProbe probe_;
    Gathered coming_;              // to their current ports
    Gathered landing_;             // began to cross to a switch; ports down to ranks are next
    std::vector<u32> served_;
    std::vector<Hops> hops_;            // for are_alone()
    bool is_settling_ = false;
    std::vector<Turn> turns_;
    Holder* holder_ = nullptr;
};

}  // namespace yantra
