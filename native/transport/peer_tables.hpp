// PeerTables: how messages of a collective's chunk find it on other ranks: the k-th from a peer
// meets the k-th receive posted for it, exact if all members run the same phases, so equal
// communicator, number and phases share a table. Chunks that differ deadlock; with upstream's quirk
// the run restarts with tags.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/pool.hpp"

namespace yantra {

struct PhaseShape {
    u32 program = none;
    u32 level = 0;
    u64 data = 0;
    bool operator==(const PhaseShape&) const = default;
};

class PeerTables {
public:
    struct Table {
        u64 number = 0;                  // of the chunk within its communicator
        u32 communicator_class = none;
        u32 next = none;                 // another table of the same number, with other phases
        u32 left = 0;                    // members that have ended
        u32 started = 0;                 // members that have come to a phase of known time
        std::vector<PhaseShape> phases;
        std::vector<ChunkId> chunk;      // by member; none before it joins and after it leaves
        std::vector<u32> early;          // by member: newest early arrival; may be empty
    };
    struct Early {
        u32 table = none;
        u32 member = none;
        u32 mark = 0;                    // phase and counter
        u32 next = none;
    };
    struct State {
        Pool<Table> tables;
        std::vector<std::vector<u32>>
            by_number;  // by communicator class and number: the first table
        Pool<Early> early;
    };

    explicit PeerTables(u32 communicator_classes) { state_.by_number.resize(communicator_classes); }

    // `other`, if not none, then belongs to another table of the same number.
    [[gnu::always_inline]] u32 find(u32 communicator_class, u64 number, std::span<const PhaseShape> phases,
                                    u32 members, ChunkId& other) {
        std::vector<u32>& by_number = state_.by_number[communicator_class];
        if (by_number.size() == number) {
            by_number.push_back(none);
        } else if (by_number.size() < number) [[unlikely]] {
            by_number.resize(number + 1, none);
        }
        u32& first = by_number[number];
        for (u32 table = first; table != none; table = state_.tables[table].next) {
            if (std::equal(phases.begin(), phases.end(), state_.tables[table].phases.begin(),
                           state_.tables[table].phases.end())) {
                return table;
            }
        }
        if (first != none) {
            other = any_chunk(state_.tables[first]);
        }
        const u32 table = state_.tables.take_as_left();
        Table& t = state_.tables[table];
        t.number = number;
        t.communicator_class = communicator_class;
        t.next = first;
        t.left = 0;
        t.started = 0;
        t.phases.resize(phases.size());
        for (std::size_t at = 0; at < phases.size(); ++at) {
            t.phases[at] = phases[at];
        }
        t.chunk.resize(members);
        std::fill(t.chunk.begin(), t.chunk.end(), ChunkId::none);
        t.early.clear();
        first = table;
        return table;
    }

    u32 join(u32 table, u32 member, ChunkId chunk) {
        Table& t = state_.tables[table];
        t.chunk[member] = chunk;
        if (t.early.empty()) {
            return none;
        }
        const u32 early = t.early[member];
        t.early[member] = none;
        return early;
    }

    // Returns all members if it is the last.
    std::span<const ChunkId> arrive(u32 table) {
        Table& t = state_.tables[table];
        if (++t.started < t.chunk.size()) {
            return {};
        }
        t.started = 0;
        return t.chunk;
    }

    void leave(u32 table, u32 member) {
        Table& t = state_.tables[table];
        t.chunk[member] = ChunkId::none;
        if (++t.left < t.chunk.size()) {
            return;
        }
        u32* link = &state_.by_number[t.communicator_class][t.number];
        while (*link != table) {
            link = &state_.tables[*link].next;
        }
        *link = t.next;
        state_.tables.give_back(table);
    }

    ChunkId chunk(u32 table, u32 member) const { return state_.tables[table].chunk[member]; }
    u32 members(u32 table) const { return static_cast<u32>(state_.tables[table].chunk.size()); }
    u32 communicator_class(u32 table) const { return state_.tables[table].communicator_class; }

    u32 keep_early(const Early& early) { return state_.early.take(early); }
    void wait_for_member(u32 early) {
        Early& arrival = state_.early[early];
        Table& t = state_.tables[arrival.table];
        if (t.early.empty()) {
            t.early.assign(t.chunk.size(), none);
        }
        arrival.next = t.early[arrival.member];
        t.early[arrival.member] = early;
    }
    const Early& early(u32 at) const { return state_.early[at]; }
    Early& early(u32 at) { return state_.early[at]; }
    void forget_early(u32 at) { state_.early.give_back(at); }

    const State& state() const { return state_; }
    State& state() { return state_; }

private:
    static ChunkId any_chunk(const Table& table) {
        const auto found = std::find_if(table.chunk.begin(), table.chunk.end(),
                                        [](ChunkId chunk) { return !chunk.is_none(); });
        return found == table.chunk.end() ? ChunkId::none : *found;
    }

    State state_;
};

}  // namespace yantra
