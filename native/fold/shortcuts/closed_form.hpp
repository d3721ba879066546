// Closed forms: the time of an exchange phase among ranks that do the same, without its messages:
// each has a twin that comes in the same tick (for the ring: Patarasuk and Yuan, J. Parallel
// Distrib. Comput. 69 (2009), section 3), rounded as in the run.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collective/plan.hpp"
#include "collective/exchange/closed.hpp"
#include "network/held_links.hpp"
#include "network/network.hpp"
#include "base/never.hpp"

namespace yantra {

struct ClosedForm {
    u64 ticks = 0;
    u64 messages = 0;            // that one rank sends
    std::vector<LinkUse> use;    // of those, by dimension
    std::vector<MessagesInTurn> on_links;   // if it holds only while no others meet them
    u32 learnt = none;           // number of these, by the network that holds links
};

struct LonePhase {
    const ExchangeProgram& machine;
    Place place;
    u64 data;
    bool round_up;
    bool clockwise;
    u64 hand_over_ticks;
    std::function<u64(u64)> reduction_ticks;   // by bytes
};

// Empty if messages may wait for each other.
std::vector<exchange::Steps> settle(const LonePhase& phase, NetworkModel& network,
                                    ClosedForm& form);

// None if order within a tick decides, the sum is no tick, or messages may wait for others, unless
// the network holds their links.
std::optional<ClosedForm> closed_form(const LonePhase& phase, NetworkModel& network);

PhaseMoment moment_after(const LonePhase& phase, NetworkModel& network, u64 ticks);

bool all_peers(const ExchangeProgram& machine, const Place& place, const std::function<bool(u32)>& alike);

class ClosedForms {
public:
    struct Key {
        u64 data;
        u32 rank;
        u32 plan;
        u32 communicator;   // where the plan is over its members
        u32 level;
        u32 program;
        bool clockwise;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const {
            u64 hash = key.data * 0x9e3779b97f4a7c15ULL;
            hash ^= u64{key.rank} << 32U ^ u64{key.program} << 1U ^ u64{key.clockwise};
            hash *= 0xbf58476d1ce4e5b9ULL;
            hash ^= u64{key.plan} << 40U ^ u64{key.communicator} << 8U ^ key.level ^ hash >> 29U;
            return static_cast<std::size_t>(hash * 0x94d049bb133111ebULL >> 7U);
        }
    };
    struct Used {
        std::optional<ClosedForm> form;
        u64 times = 0;
        u64 marked = 0;   // of them
    };

    // `find` is called the first time.
    template <class Find>
    Used& of(const Key& key, Find&& find) {
        const auto [entry, fresh] = known_.try_emplace(key);
        if (fresh) {
            entry->second.form = find();
        }
        return entry->second;
    }

    void mark() {
        for (auto& [key, used] : known_) {
            used.marked = used.times;
        }
    }
    void repeat(u64 times) {
        for (auto& [key, used] : known_) {
            used.times += (used.times - used.marked) * times;
        }
    }

    template <class Visit>
    void for_each(Visit&& visit) const {
        for (const auto& [key, used] : known_) {
            if (used.times > 0) {
                visit(key.rank, *used.form, used.times);
            }
        }
    }

private:
    std::unordered_map<Key, Used, Hash> known_;
};

}  // namespace yantra
