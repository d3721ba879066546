// Closed forms: what a phase of the exchange machine takes among ranks that do the same, found without
// its messages.
//
// Where all that a rank hears from are of its class, they are always where it is itself: each message it
// sends has a twin that reaches it in the same tick. Nothing else acts on the phase, so what it takes
// follows from program, bytes, distances and delays. With one packet at a time that is the sum of its
// hand-overs, reductions and messages (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009),
// section 3, for the ring), here of whole ticks, each rounded as the run rounds it. With several the
// packets of one rank are played on a clock of their own: fewer events than the run's by the chunks and
// collectives alike, and none where a sum does.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "base/vector.hpp"
#include "collective/plan.hpp"
#include "collective/runtime/phase_times.hpp"
#include "network/held_links.hpp"
#include "network/network.hpp"
#include "base/never.hpp"

namespace yantra {

struct ClosedForm {
    u64 ticks = 0;
    u64 messages = 0;            // that one rank sends
    Vector<LinkUse> use;    // of those, by dimension
    Vector<MessagesInTurn> on_links;   // where it holds only as long as no others meet them
    u32 learnt = none;           // number of these, by the network that holds links
    bool in_turn = true;         // one packet at a time
};

// A phase as one rank sees it.
struct LonePhase {
    const ExchangeProgram& machine;
    Place place;
    u64 data;
    bool round_up;
    bool clockwise;
    u64 hand_over_ticks;
    std::function<u64(u64)> reduction_ticks;   // of so many bytes
};

inline constexpr u64 longest_phase = u64{1} << 60U;   // ticks; what the clock can still add to

// A run of a program with its sizes, ways and counters settled, as one member sees it.
struct PhaseSteps {
    u64 count = 0;       // hand-overs
    u64 sends = 0;       // of them followed by a send
    u64 hand_over = 0;   // ticks, of a packet
    u64 reduction = 0;   // ticks
    u64 message = 0;     // ticks
    u32 link = none;     // over which it leaves, where others wait for it
    u64 leaves = 0;      // ticks until that is free again
    u32 to = 0;          // counter for the sender where the message arrives
    u32 from = 0;        // counter for the sender of the message that is then waited for
};

// Empty where messages may wait for each other. Adds to `form` what it sends.
Vector<PhaseSteps> settle(const LonePhase& phase, NetworkModel& network, ClosedForm& form);

// None where the order of two events of one tick decides, or where the sum is no tick: the run of events
// finds that and says so. None either where messages may wait for others, unless the network holds their links for
// them.
std::optional<ClosedForm> closed_form(const LonePhase& phase, NetworkModel& network);

// Where a phase is after so many ticks, if it has such a form with messages in turn.
PhaseProgress progress_after(const LonePhase& phase, NetworkModel& network, u64 ticks);

// The same of a form with several packets under way.
PhaseMoment moment_after(const LonePhase& phase, NetworkModel& network, u64 ticks);

// Whether `alike(rank)` holds for all that a member of a level sends to or hears from in a program. It hears
// from those that are as far behind it as it sends ahead, and either way round may be ahead.
bool all_peers(const ExchangeProgram& machine, const Place& place, const std::function<bool(u32)>& alike);

// The closed forms of a run, found once each, and how often each stood for a phase.
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

    // `find` is asked the first time.
    template <class Find>
    Used& of(const Key& key, Find&& find) {
        const auto [entry, fresh] = known_.try_emplace(key);
        if (fresh) {
            entry->second.form = find();
        }
        return entry->second;
    }

    // What was used since the last mark was used so many times more.
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
