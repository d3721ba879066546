// Successive one-phase chunks: if their ends are known (PhaseTimes), one represents all; else a
// chunk that ends becomes the next.
#include <limits>
#include <vector>

#include "collective/runtime/collectives.hpp"

namespace yantra {

namespace {

constexpr std::size_t most_turns = std::numeric_limits<u8>::max();

}  // namespace

// Nobody else sees the others end.
bool Collectives::cut_at_once(const CollectiveRequest& request, Entry& entry) {
    u64 after = 0;
    const bool does_something = series_.plan(request, parameters_.plans[entry.plan], after);
    const std::vector<Phase>& phases = series_.phases();
    const std::size_t most = options_.times->may_not_hold() ? most_turns : phases.size();
    const auto are_known = [&](const PhaseInput& input) {
        return options_.times->most_alike(input) >= phases.size();
    };
    if (phases.size() > 1 && phases.size() <= most &&
        series_.are_alike(request, entry.plan, are_known)) {
        std::vector<u64> more;
        for (std::size_t at = 1; at < phases.size(); ++at) {
            more.push_back(phases[at].data);
        }
        enter(request, entry);
        if (options_.times->may_not_hold()) {
            make_chunk(entry, phases, more, 0, static_cast<u8>(more.size()));
        } else {
            series_.remember(request, entry.plan, more);
            const Phase first = phases.front();
            make_chunk(entry, {&first, 1}, more);
        }
        planner_.chunks_made(request.actor, request.communicator) = after;
        return does_something;
    }
    make_all(request, entry);
    return does_something;
}

void Collectives::make_all(const CollectiveRequest& request, Entry& entry) {
    const std::vector<Phase> all = series_.phases();   // what starts may re-enter here
    for (const Phase& phase : all) {
        enter(request, entry);
        make_chunk(entry, {&phase, 1});
    }
}

// Later ones only wait.
bool Collectives::cut_in_turns(const CollectiveRequest& request, Entry& entry) {
    u64 after = 0;
    const bool does_something = series_.plan(request, parameters_.plans[entry.plan], after);
    const std::vector<Phase>& phases = series_.phases();
    if (phases.size() < 2 || phases.size() > most_turns || !series_.are_exchanges()) {
        make_all(request, entry);
        return does_something;
    }
    enter(request, entry);
    make_chunk(entry, phases, {}, 0, static_cast<u8>(phases.size() - 1));
    *entry.made = after;
    return does_something;
}

void Collectives::take_turns(ChunkId chunk, u32 turns) {
    for (; turns > 0; --turns) {
        take_turn(chunk);
        chunks_[chunk].phase = chunks_[chunk].first_phase;
    }
}

void Collectives::take_turn(ChunkId chunk) {
    Chunk& c = chunks_[chunk];
    Entry entry;
    entry.of_class = tables_.communicator_class(c.table);
    entry.members = tables_.members(c.table);
    entry.member = c.member;
    entry.first_chunk = parameters_.communicators[c.communicator].first_chunk;
    tables_.leave(c.table, c.member);
    chunks_.takes_next_turn(chunk);
    join_table(chunk, entry, shapes_.of_one(c));
}

}  // namespace yantra
