// Fast-forward moves a run on to where it would be some repetitions later.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "fold/shortcuts/fast_forward_state.hpp"

namespace yantra {

void FastForward::skip(const State& now, u64 times) {
    const u64 ticks = now.tick - kept_->tick;
    ensure(now.counts.size() == kept_->counts.size(), "two states alike that count different things");
    Moves moves{.nodes = {},
                .priority = {},
                .chunks = {},
                .tags = static_cast<u32>(times) * tag_step_.value_or(0),
                .before = kept_->counts,
                .after = now.counts,
                .times = times};
    for (u32 at = 0; at < actors(); ++at) {
        const ActorId actor(at);
        write_times(actor, ticks, times);
        move_waiting(actor, now, times);
        moves.nodes.add(moved(actor, 0, times));
        moves.priority.add(static_cast<i64>(times) * (now.origins.next_priority[actor] -
                                                      kept_->origins.next_priority[actor]));
    }
    const std::vector<u64>& made = now.origins.chunks_made;
    for (std::size_t at = 0; at < made.size(); ++at) {
        moves.chunks.push_back(times * (made[at] - kept_->origins.chunks_made[at]));
    }
    std::vector<std::pair<MatchKey, u32>> sent;
    Transport::State& transport = run_.transport().state();
    transport.matcher.for_each_message(transport.waiting(), [&](u32 at) {
        const Matcher::Waiting& waiting = transport.flights[at].waiting;
        if (waiting.side == Matcher::Side::send) {
            sent.emplace_back(waiting.key(), at);
        }
    });
    StateMover mover(classes_, moves);
    visit(mover);
    ensure(mover.counted() == now.counts.size(), "a state that was not moved as it was written");
    move_events(ticks * times);
    move_tables(mover.tables);
    match_again(now, moves.tags, times, sent);
    RecurringState& network = *run_.network().capabilities().recurring_state;
    network.repeat(kept_->use, times);
    network.leap(ticks * times);
    phases_.leap(ticks * times);
    phases_.repeat(times);
    for (u32 at = 0; at < actors(); ++at) {
        skipped_ += times * shifts_[ActorId(at)].by;
    }
}

void FastForward::write_times(ActorId actor, u64 ticks, u64 times) {
    const Shift& shift = shifts_[actor];
    u64* const start = starts(actor);
    u64* const end = ends(actor);
    u64* const begun = begins(actor);
    for (u64 time = 1; time <= times; ++time) {
        const u64 by = time * shift.by;
        for (u32 node : shift.started) {
            start[node + by] = start[node] + time * ticks;
        }
        for (u32 node : shift.begun) {
            begun[node + by] = begun[node] + time * ticks;
        }
        for (u32 node : shift.ended) {
            end[node + by] = end[node] + time * ticks;
        }
    }
}

void FastForward::move_waiting(ActorId actor, const State& now, u64 times) {
    std::vector<u32>& waiting = run_.executor().state().actors[actor].waiting;
    const Shift& shift = shifts_[actor];
    const u32 first = now.actors[actor].first_open;
    const u32 by = moved(actor, 0, times);
    if (by > 0 && shift.highest >= first) {
        const auto from = waiting.begin() + first;
        const auto last = waiting.begin() + shift.highest + 1;
        std::copy_backward(from, last, last + by);
    }
}

void FastForward::move_events(u64 ticks) {
    for (const Event& event : run_.engine().queue.pending()) {
        if (event.kind.owner() == Owner::rank_events) {
            run_.engine().of_ranks.postpone(event.index, ticks);
        }
    }
    run_.engine().queue.leap(ticks);
}

void FastForward::move_tables(const std::vector<std::pair<u32, u64>>& tables) {
    PeerTables::State& state = run_.collectives().tables().state();
    for (const auto& [at, by] : tables) {
        const PeerTables::Table& table = state.tables[at];
        state.by_number[table.communicator_class][table.number] = none;
    }
    for (const auto& [at, by] : tables) {
        PeerTables::Table& table = state.tables[at];
        table.number += by;
        std::vector<u32>& by_number = state.by_number[table.communicator_class];
        if (by_number.size() <= table.number) {
            by_number.resize(table.number + 1, none);
        }
        by_number[table.number] = at;
    }
}

void FastForward::match_again(const State& now, u32 tags, u64 times,
                              const std::vector<std::pair<MatchKey, u32>>& sent) {
    Transport::State& transport = run_.transport().state();
    transport.matcher = {};
    for (auto [key, flight] : sent) {
        key.tag += tags;
        wait_again(key, Matcher::Side::send, flight);
    }
    for (u32 at = 0; at < actors(); ++at) {
        const ActorId actor(at);
        const u32 end = shifts_[actor].end;
        for (Posted receive : now.posted[actor]) {
            const u32 node = moved(actor, receive.node, times);
            if (receive.node < end && node < end) {
                transport.flights[receive.flight].received.b = node;
                receive.key.tag += tags;
                wait_again(receive.key, Matcher::Side::receive, receive.flight);
            } else if (receive.node < end) {
                transport.flights.give_back(receive.flight);
            }
        }
        for (const Posted& receive : now.posted[actor]) {
            if (receive.node >= end) {
                wait_again(receive.key, Matcher::Side::receive, receive.flight);
            }
        }
    }
}

void FastForward::wait_again(const MatchKey& key, Matcher::Side side, u32 flight) {
    Transport::State& transport = run_.transport().state();
    const auto waiting = transport.waiting();
    const Matcher::Place place = transport.matcher.find(key, waiting);
    const u32 partner = transport.matcher.take(place, side, waiting);
    ensure(partner == none, "a message waits where its other half does");
    transport.matcher.wait(place, key, side, flight, waiting);
}

}  // namespace yantra
