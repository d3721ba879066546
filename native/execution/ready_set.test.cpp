// The node of the smallest position among the open slots comes first, once.
#include "execution/ready_set.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/test.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u32 slots = 3;
constexpr u32 many_slots = 150;   // more than a word has bits

struct Slow {
    std::map<u32, std::pair<u32, u32>> by_position;   // slot, node

    u32 take_first(const std::set<u32>& open) { return take_before(none, open); }
    u32 take_before(u32 position, const std::set<u32>& open) {
        for (auto it = by_position.begin(); it != by_position.end() && it->first < position; ++it) {
            if (open.contains(it->second.first)) {
                const u32 node = it->second.second;
                by_position.erase(it);
                return node;
            }
        }
        return none;
    }
};

void the_first_comes_first(u32 seed, bool in_own_order, u32 slots) {
    test::Random random(seed);
    ReadySet ready(slots);
    Slow slow;
    std::vector<u32> position(200);
    for (u32 node = 0; node < position.size(); ++node) {
        const u32 other = static_cast<u32>(random.below(node + 1));
        position[node] = node;
        if (!in_own_order) {
            std::swap(position[node], position[other]);
        }
    }
    u32 made = 0;
    for (u32 step = 0; step < 1000; ++step) {
        if (made < position.size() && random.one_in(2)) {
            const u32 slot = static_cast<u32>(random.below(slots + 1));
            in_own_order ? ready.insert(slot, made) : ready.insert(slot, made, position[made]);
            slow.by_position[position[made]] = {slot, made};
            ++made;
        }
        std::set<u32> open;
        for (u32 slot = 0; slot <= slots; ++slot) {
            if (random.one_in(2)) {
                open.insert(slot);
                ready.reopen(slot);
            } else if (random.one_in(2)) {
                ready.shut(slot);
            }
        }
        const u32 before = random.one_in(2) ? none : static_cast<u32>(random.below(position.size()));
        const u32 node = ready.take_before(ReadySet::turn_of(0, before), [&](u32 slot) { return open.contains(slot); });
        check(node == slow.take_before(before, open), "another node comes first", step);
        check(ready.empty() == slow.by_position.empty(), "nodes are left, or lost", step);
    }
    while (!slow.by_position.empty()) {
        const u32 slot = slow.by_position.begin()->second.first;
        ready.reopen(slot);
        const std::set<u32> open{slot};
        const u32 node = ready.take_first([slot](u32 of) { return of == slot; });
        check(node == slow.take_first(open), "another node is left", seed);
    }
    check(ready.empty(), "nodes are left", seed);
}

void those_that_wait_are_told() {
    ReadySet ready(slots);
    for (const auto& [slot, node, position] : {std::tuple{1u, 7u, 2u}, {2u, 3u, 9u}, {1u, 5u, 1u}}) {
        ready.insert(slot, node, position);
    }
    std::set<u32> nodes;
    ready.for_each([&nodes](u32 node) { nodes.insert(node); });
    check(nodes == std::set<u32>{3, 5, 7}, "other nodes wait", 0);
    check(ready.wanted([](u32) { return true; }) == 0b110, "other slots are wanted", 0);
    check(ready.wanted([](u32 slot) { return slot != 1; }) == 0b100, "a slot that does not count is", 0);
}

void what_moves_on_keeps_its_order() {
    for (const u32 by : {0u, 1u, 1'000'000u}) {
        ReadySet ready(slots);
        for (const auto& [node, position] : {std::pair{7u, 2u}, {3u, 9u}, {5u, 4u}}) {
            ready.insert(1, node, position);
        }
        ready.move_on(by);
        ready.insert(1, 4, 3 + by);
        for (const u32 node : {7 + by, 4u, 5 + by, 3 + by}) {
            check(ready.take_first([](u32) { return true; }) == node, "the order changed", by);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 20; ++seed) {
        the_first_comes_first(seed, seed % 2 == 0, slots);
        the_first_comes_first(seed, seed % 2 == 0, many_slots);
    }
    those_that_wait_are_told();
    what_moves_on_keeps_its_order();
}
