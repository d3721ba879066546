// The two visitors of a run's state (engine/state.hpp): one writes what its future depends on, one
// moves it on.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "engine/actors.hpp"
#include "execution/ready_set.hpp"

namespace yantra {

// Where numbers are counted from.
struct Origins {
    IdVector<ActorId, u64> nodes_done;
    IdVector<ActorId, i64> next_priority;   // all 0 where the workload gives priorities
    std::vector<u64> chunks_made;           // by communicator class
};

struct Moves {
    IdVector<ActorId, u32> nodes;
    IdVector<ActorId, i64> priority;
    std::vector<u64> chunks;                // by communicator class
    u32 tags = 0;
    // Before and after one repetition.
    const std::vector<u64>& before;
    const std::vector<u64>& after;
    u64 times = 0;
};

template <class Visitor>
class StateVisitor {
public:
    template <class T>
    void fixed(const T&) {}
    template <class T>
    void scratch(const T&) {}
    template <class T>
    void elsewhere(const T&) {}

    template <class Items, class Visit>
    void each(Items& items, Visit&& visit) {
        self().word(items.size());
        for (auto& item : items) {
            visit(item);
        }
    }
    template <class T, class Visit>
    void each(IdVector<ActorId, T>& items, Visit&& visit) {
        for (u32 at = 0; at < items.size(); ++at) {
            visit(ActorId(at), items[ActorId(at)]);
        }
    }
    template <class Visit>
    void each_membership(Visit&& visit) {
        for (u32 actor = 0; actor < classes_.memberships.size(); ++actor) {
            for (const ActorClasses::Membership& in : classes_.memberships[actor]) {
                visit(ActorId(actor), in.communicator, in.communicator_class);
            }
        }
    }
    void chunks_made(ActorId actor, std::vector<u64>& made, u64 period) {
        for (const ActorClasses::Membership& in : classes_.memberships[actor.index()]) {
            self().count(made[in.communicator_class], period);
        }
    }

protected:
    explicit StateVisitor(const ActorClasses& classes) : classes_(classes) {}
    Visitor& self() { return static_cast<Visitor&>(*this); }

    const ActorClasses& classes_;
};

class StateWriter : public StateVisitor<StateWriter> {
public:
    StateWriter(const ActorClasses& classes, const Origins& origins)
        : StateVisitor(classes), origins_(origins) {}

    bool possible() const { return possible_; }
    void must(bool condition) { possible_ = possible_ && condition; }
    template <class T>
    void must_be_empty(const T& items) {
        must(items.empty());
    }

    void word(u64 value) { words.push_back(value); }
    template <class T>
    void same(const T& value) {
        if constexpr (requires { value.packed(); }) {
            word(value.packed());
        } else {
            word(static_cast<u64>(value));
        }
    }
    void all_same(const std::vector<u32>& values) { words.insert(words.end(), values.begin(), values.end()); }
    void node(ActorId actor, u32 node) {
        word(u64{actor.index()} << 32U | (node - static_cast<u32>(origins_.nodes_done[actor])));
    }
    void node(ActorId actor, NodeId at) { node(actor, at.index()); }
    void place(ActorId, u32) {}   // that of a node
    void nodes(ActorId actor, const ReadySet& ready) {
        const std::size_t size = words.size();
        word(0);
        ready.for_each([&](u32 at) { node(actor, at); });
        words[size] = words.size() - size - 1;
        std::sort(words.begin() + static_cast<std::ptrdiff_t>(size) + 1, words.end());
    }
    void chunk_number(u32 communicator_class, u64 number) {
        word(number - origins_.chunks_made[communicator_class]);
    }
    void table_number(u32, u32 communicator_class, u64 number) {
        chunk_number(communicator_class, number);
    }
    void priority(ActorId actor, i64 priority) {
        word(static_cast<u64>(priority - origins_.next_priority[actor]));
    }
    void tag(u32 tag) { tags.push_back(tag); }
    template <class T>
    void count(const T& value) {
        counts.push_back(static_cast<u64>(value));
    }
    template <class T>
    void count(const T& value, u64 period) {
        word(value % period);
        count(value);
    }

    bool comes_to_flight(u32) const { return true; }
    bool comes_to_instance(u32) const { return true; }
    bool comes_to_table(u32) const { return true; }

    std::vector<u64> words;
    std::vector<u64> counts;
    std::vector<u32> tags;

private:
    const Origins& origins_;
    bool possible_ = true;
};

class StateMover : public StateVisitor<StateMover> {
public:
    StateMover(const ActorClasses& classes, const Moves& moves) : StateVisitor(classes), moves_(moves) {}

    bool possible() const { return true; }
    void must(bool) {}
    template <class T>
    void must_be_empty(const T&) {}
    void word(u64) {}
    template <class T>
    void same(const T&) {}
    void all_same(const std::vector<u32>&) {}

    void node(ActorId actor, u32& node) { node += moves_.nodes[actor]; }
    void node(ActorId actor, NodeId& node) { node = NodeId(node.index() + moves_.nodes[actor]); }
    void place(ActorId actor, u32& place) { place += moves_.nodes[actor]; }
    void nodes(ActorId actor, ReadySet& ready) { ready.move_on(moves_.nodes[actor]); }
    void chunk_number(u32 communicator_class, u64& number) {
        number += moves_.chunks[communicator_class];
    }
    void table_number(u32 table, u32 communicator_class, u64) {
        tables.emplace_back(table, moves_.chunks[communicator_class]);
    }
    void priority(ActorId actor, i64& priority) { priority += moves_.priority[actor]; }
    void tag(u32& tag) { tag += moves_.tags; }
    template <class T>
    void count(T& value) {
        const u64 step = moves_.after[counted_] - moves_.before[counted_];
        ++counted_;
        value += static_cast<T>(step * moves_.times);
    }
    template <class T>
    void count(T& value, u64) {
        count(value);
    }

    bool comes_to_flight(u32 at) { return flights_.insert(at).second; }
    bool comes_to_instance(u32 at) { return instances_.insert(at).second; }
    bool comes_to_table(u32 at) { return tables_seen_.insert(at).second; }

    std::size_t counted() const { return counted_; }
    std::vector<std::pair<u32, u64>> tables;   // and how many chunks each moves

private:
    const Moves& moves_;
    std::size_t counted_ = 0;
    std::unordered_set<u32> flights_;
    std::unordered_set<u32> instances_;
    std::unordered_set<u32> tables_seen_;
};

}  // namespace yantra
