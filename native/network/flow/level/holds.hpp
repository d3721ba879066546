// Holds: links of the flow network held for a phase among equal ranks (network/held_links.hpp),
// with nothing else under way.
#pragma once

#include "network/flow/level/flows.hpp"
#include "network/held_links.hpp"

namespace yantra::inline YANTRA_RUN::flow {

class Holds final : public HeldLinks {
public:
    Holds(Common& all, Flows& flows, Lines& lines)
        : all_(all), flows_(flows), lines_(lines), under_way_over_(all.is_over_classes ? all.ways->links() : 0), held_(under_way_over_.size()) {}

    void tell(Holder& holder) override { holder_ = &holder; }
    u64 undisturbed(const Message& message) override { return ticks_alone(route_of(message), message.bytes); }
    u32 learn(std::span<const MessagesInTurn> messages) override;
    bool hold(u32 learnt, u64 ticks, u32 name) override;
    void add(u32 learnt) override { ++turns_[learnt].holds; }
    void give_up(u32 learnt, std::span<const u64> through) override;
    void carry_on(const Message& message, Notice arrived, i64 since) override;

    void meet(RouteId route) {
        if (all_.is_over_classes) {
            meet_holders(route);
        }
    }
    // Messages under way.
    void count(RouteId route, i32 change) {
        for (std::size_t at = 0; all_.is_over_classes && at < all_.routes.links(route).size(); ++at) {
            under_way_over_[all_.routes.links(route)[at]] += static_cast<u32>(change);
        }
    }
    // With what holds carry.
    Carried carried() const;

private:
    struct Held {
        u64 until = 0;   // tick
        u32 name = none;
    };
    struct Turn {
        struct Messages {
            RouteId route;
            u64 bytes = 0;
            u64 times = 0;
        };
        std::vector<Messages> messages;
        std::vector<LinkId> links;     // each once
        u64 holds = 0;            // that have not been given up
    };

    RouteId route_of(const Message& message) {
        return all_.routes.between(all_.ways->place(message.src), all_.ways->place(message.dst), 0);
    }
    u64 ticks_alone(RouteId route, u64 bytes) const;
    void carry_alone(const Turn::Messages& messages, u64 times, Carried& to) const;
    void meet_holders(RouteId route);

    Common& all_;
    Flows& flows_;
    Lines& lines_;
    IdVector<LinkId, u32> under_way_over_;   // messages
    IdVector<LinkId, Held> held_;
    std::vector<Turn> turns_;
    Holder* holder_ = nullptr;
};

}  // namespace yantra::inline YANTRA_RUN::flow
