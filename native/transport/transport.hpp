// Transport: messages between ranks: matching (astra-sim-semantics 0.3), and the rendezvous
// protocol (5.9). Those whose receiver counts arrivals (peer_tables.hpp) only pass through.
#pragma once

#include <span>

#include "base/cut_sizes.hpp"
#include "base/pool.hpp"
#include "engine/actors.hpp"
#include "engine/completion.hpp"
#include "engine/engine.hpp"
#include "engine/order_watcher.hpp"
#include "network/held_links.hpp"
#include "network/network.hpp"
#include "transport/matcher.hpp"
#include "transport/transport_probe.hpp"

namespace yantra::inline YANTRA_RUN {

struct TransportParameters {
    bool rendezvous = false;
    bool send_completes_on_arrival = false;   // quirk
    bool sizes_of_32_bits = false;            // quirk
};

class Transport {
public:
    // Freed with the last of its ends, in any order: the sender's comes after the receiver's if a
    // network waits for an answer.
    struct alignas(64) Flight {
        Matcher::Waiting waiting;
        Completion sent;
        Completion received;
        bool receive_posted = false;
        bool delivered = false;
        u8 ends_to_come = 1;   // the receiver's, and the sender's if the network reports it
    };
    static_assert(sizeof(Flight) == 64);
    // A rendezvous, at either end.
    struct Rendezvous {
        u64 bytes = 0;
        Actors::Ends ends{};
        RankId src;
        RankId dst;
        u32 tag = 0;
        Completion then;
    };
    struct State {
        Pool<Flight> flights;
        Matcher matcher;
        Pool<Rendezvous> rendezvous;
        u64 messages = 0;   // sent so far, by all ranks

        auto waiting() {
            return [this](u32 flight) -> Matcher::Waiting& { return flights[flight].waiting; };
        }
        auto waiting() const {
            return [this](u32 flight) -> const Matcher::Waiting& { return flights[flight].waiting; };
        }
    };

    Transport(Engine& engine, const Actors& actors, NetworkModel& network, Completions& completions,
              const TransportParameters& parameters, OrderWatcher* watcher)
        : engine_(engine),
          actors_(actors),
          network_(network),
          fast_path_(network.capabilities().fast_path),
          held_links_(network.capabilities().held_links),
          completions_(completions),
          parameters_(parameters),
          watcher_(watcher),
          probe_(engine.recorder()) {}

    [[gnu::noinline]] void send(const Actors::Ends& ends, RankId from, RankId to, u64 bytes, u32 tag,
                                Completion then, u64 order = 0) {
        post(ends, from, to, bytes, tag, then, true, order);
    }
    [[gnu::noinline]] void receive(const Actors::Ends& ends, RankId at, RankId from, u64 bytes, u32 tag,
                                   Completion then) {
        post(ends, at, from, bytes, tag, then, false, 0);
    }
    // True for a receive whose message is there. Inlined down to the table, per half: fields
    // combined in memory would stall on earlier stores.
    [[gnu::always_inline]] bool post(const Actors::Ends& ends, RankId rank, RankId peer, u64 bytes,
                                     u32 tag, Completion then, bool sends, u64 order) {
        if (parameters_.rendezvous) [[unlikely]] {
            if (sends) {
                ask_to_send(ends, rank, peer, bytes, tag, then);
            } else {
                offer_to_receive(ends, rank, peer, bytes, tag, then);
            }
            return false;
        }
        return post_now({bytes, tag, ends.src, ends.dst}, rank, peer, then, sends, order);
    }

    void pass(const Message& message, Notice arrived) {
        count(message.ranks);
        network_.send(message, arrived, {});
    }

    void pass_on(const Message& message, Notice arrived, i64 since) {
        count(message.ranks);
        held_links_->carry_on(message, arrived, since);
    }

    u32 only_link(RankId from, RankId to) { return fast_path_ == nullptr ? none : fast_path_->only_link(from, to); }
    void pass_over(u32 link, const Message& message, Notice arrived) {
        count(message.ranks);
        fast_path_->send_over(link, message, arrived);
    }

    void pass_over_links(std::span<const OverLink> many, u64 bytes) {
        if (!many.empty()) {
            count(many.size());
            fast_path_->send_over_links(many, bytes);
        }
    }
    void pass_round(std::span<const OverLink> many, u64 bytes) {
        count(many.size());
        fast_path_->send_round(many, bytes);
    }
    u64 ticks_of_rounds(std::span<const OverLink> many, u64 bytes) {
        return fast_path_ == nullptr ? 0 : fast_path_->ticks_of_rounds(many, bytes);
    }
    void pass_rounds(std::span<const OverLink> many, u64 bytes, u64 rounds) {
        count(many.size() * rounds);
        fast_path_->pass_rounds(many, bytes, rounds);
    }

    // See FixedWay.
    FixedWay fixed_way(const Message& message) {
        return fast_path_ == nullptr ? FixedWay{} : fast_path_->fixed_way(message);
    }
    bool ways_are_alike() const { return fast_path_ != nullptr && fast_path_->ways_are_alike(); }
    void count(u64 messages) { state_.messages += messages; }
    void ranks_end() { network_.ranks_end(); }

    [[gnu::noinline]] void handle(const Event& event);

    bool is_rendezvous() const { return parameters_.rendezvous; }
    const Rendezvous* send_behind(const Completion& completion) const;
    const CutSizes& cut() const { return cut_; }
    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    enum Kind : u32 { arrived, departed, receive_ready };
    enum Step : u32 { may_send, may_receive };

    [[gnu::noinline]] void ask_to_send(const Actors::Ends& ends, RankId from, RankId to, u64 bytes,
                                       u32 tag, const Completion& then);
    [[gnu::noinline]] void offer_to_receive(const Actors::Ends& ends, RankId at, RankId from,
                                            u64 bytes, u32 tag, const Completion& then);
    bool post_now(const MatchKey& key, RankId rank, RankId peer, Completion then, bool sends, u64 order);
    [[gnu::noinline]] void send_now(const MatchKey& key, RankId from, RankId to, Completion then) {
        post_now(key, from, to, then, true, 0);
    }
    [[gnu::noinline]] void receive_now(const MatchKey& key, Completion then) {
        post_now(key, RankId::none, RankId::none, then, false, 0);
    }
    u64 carried(u64 bytes, RankId from, RankId to) const;
    void arrive(u32 flight);
    void complete(const Completion& then);
    void ends(u32 flight);
    u32 meet(const MatchKey& key, Matcher::Side side, bool& fresh);

    Engine& engine_;
    const Actors& actors_;
    NetworkModel& network_;
    FastPath* const fast_path_;      // null where the network has none
    HeldLinks* const held_links_;    // likewise
    Completions& completions_;
    TransportParameters parameters_;
    OrderWatcher* watcher_;
    TransportProbe probe_;
    State state_;
    CutSizes cut_;
};

[[gnu::always_inline]] inline u32 Transport::meet(const MatchKey& key, Matcher::Side side, bool& fresh) {
    const auto waiting = state_.waiting();
    const Matcher::Place place = state_.matcher.find(key, waiting);
    const u32 partner = state_.matcher.take(place, side, waiting);
    fresh = partner == none;
    if (!fresh) {
        return partner;
    }
    const u32 flight = state_.flights.take_as_left();
    Flight& f = state_.flights[flight];
    f.sent = {};
    f.received = {};
    f.receive_posted = false;
    f.delivered = false;
    f.ends_to_come = 1;
    state_.matcher.wait(place, key, side, flight, waiting);
    return flight;
}

[[gnu::always_inline]] inline bool Transport::post_now(const MatchKey& key, RankId rank, RankId peer,
                                                       Completion then, bool sends, u64 order) {
    bool fresh = false;
    const u32 flight = meet(key, sends ? Matcher::Side::send : Matcher::Side::receive, fresh);
    Flight& f = state_.flights[flight];
    if (!sends) {
        f.received = then;
        f.receive_posted = true;
        probe_.posted(flight, fresh);
        const bool delivered = f.delivered;
        if (delivered) {
            engine_.queue.schedule(engine_.now(), {Owner::transport, receive_ready}, flight);
        }
        return delivered;
    }
    f.sent = then;
    if (!fresh) {
        completions_.begins(f.received);
    }
    const u64 ranks = actors_.ranks_of(actors_.of(rank));
    state_.messages += ranks;
    probe_.sent(flight, fresh, key.bytes, peer, key.tag);
    const bool departs = !then.kind.is_none() && !parameters_.send_completes_on_arrival;
    f.ends_to_come = static_cast<u8>(f.ends_to_come + (departs ? 1 : 0));
    network_.send({rank, peer, key.bytes, ranks, order}, {{Owner::transport, arrived}, flight},
                  departs ? Notice{{Owner::transport, departed}, flight} : Notice{});
    return false;
}

}  // namespace yantra
