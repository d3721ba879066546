// The chunks of a collective add up to it, and all members plan the same.
// needs: the parts of a run
#include "collective/runtime/planner.hpp"

#include <algorithm>
#include <vector>

#include "base/test.hpp"
#include "collective/test.hpp"

namespace {

using namespace yantra;
using test::check;

using Phases = std::vector<Phase>;

std::vector<Dimension> any_dimensions(test::Random& random) {
    std::vector<Dimension> dimensions;
    for (u64 left = 1 + random.below(3); left > 0; --left) {
        const double bandwidth = static_cast<double>(1 + random.below(4));
        dimensions.push_back({Block::ring, static_cast<u32>(2 + random.below(3)), bandwidth, 1.0, bandwidth});
    }
    return dimensions;
}

struct World {
    World(const std::vector<Dimension>& dimensions, const CollectiveParameters& parameters, const Semantics& semantics)
        : grid(dimensions), actors(grid.ranks(), 1), planner(parameters, semantics, grid, actors) {}

    std::vector<Phases> cut(const CollectiveParameters& parameters, CollectiveKind kind, u64 bytes, u32 actor) {
        CollectiveRequest request;
        request.kind = kind;
        request.bytes = bytes;
        request.actor = ActorId(actor);
        planner.collective_starts(request.actor, 0, parameters.plans[0], 0);
        std::vector<Phases> chunks;
        planner.cut(request, parameters.plans[0], [&](const Phases& phases) {
            chunks.push_back(phases);
            ++planner.chunks_made(request.actor, 0);
        });
        return chunks;
    }

    Grid grid;
    Actors actors;
    Planner planner;
};

u64 slow_next(CollectiveKind kind, u64 data, u32 size) {
    return kind == CollectiveKind::reduce_scatter ? (data + size - 1) / size
           : kind == CollectiveKind::all_gather   ? data * size
                                                  : data;
}

void data_follows_the_shares(const CollectiveParameters& parameters, const Phases& phases, u64 step) {
    for (std::size_t at = 0; at + 1 < phases.size(); ++at) {
        const u32 size = parameters.plans[0].levels[phases[at].level].size;
        check(phases[at + 1].data == slow_next(phases[at].kind, phases[at].data, size),
              "a phase has other data", step);
    }
    for (const Phase& phase : phases) {
        const u32 dimension = parameters.plans[0].levels[phase.level].dimension;
        check(phase.queue / parameters.system.queues_per_dimension == dimension, "a queue elsewhere", step);
    }
}

void an_all_reduce_goes_there_and_back(const CollectiveParameters& parameters, const Phases& phases, u64 step) {
    const std::size_t levels = parameters.plans[0].levels.size();
    const bool balanced = phases.size() == 2 * levels;   // Themis scatters over the last one, too
    check(balanced || phases.size() == 2 * levels - 1, "another number of phases", step);
    for (std::size_t at = 0; at < phases.size() / 2; ++at) {
        check(phases[at].kind == CollectiveKind::reduce_scatter, "not scattered", step);
        check(phases[phases.size() - 1 - at].kind == CollectiveKind::all_gather, "not gathered", step);
        check(phases[at].level == phases[phases.size() - 1 - at].level, "back by another way", step);
    }
    check(balanced || phases[levels - 1].kind == CollectiveKind::all_reduce, "not reduced", step);
    std::vector<bool> seen(levels);
    for (std::size_t at = 0; at < levels; ++at) {
        check(!seen[phases[at].level], "a level twice on the way there", step);
        seen[phases[at].level] = true;
    }
    const Phase& last = phases.back();
    const u64 end = slow_next(last.kind, last.data, parameters.plans[0].levels[last.level].size);
    check(end >= phases.front().data, "a chunk ends with less than it began with", step);
}

bool equal(const Phases& a, const Phases& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Phase& x, const Phase& y) {
        return x.data == y.data && x.level == y.level && x.program == y.program && x.queue == y.queue &&
               x.kind == y.kind && x.clockwise == y.clockwise;
    });
}

u32 plans(u32 seed, InterDimension order, bool padded) {
    u32 alike = 0;
    test::Random random(seed);
    const std::vector<Dimension> dimensions = any_dimensions(random);
    CollectiveParameters parameters = test::collectives_over(dimensions);
    parameters.system.chunks = static_cast<u32>(1 + random.below(9));
    parameters.system.queues_per_dimension = static_cast<u32>(1 + random.below(4));
    parameters.system.inter_dimension = order;
    Semantics semantics{TimeScale::picoseconds(), {}};
    semantics.quirks.padded_chunks = padded;
    World world(dimensions, parameters, semantics);
    const u32 ranks = world.grid.ranks();
    constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                        CollectiveKind::all_gather};
    for (u64 step = 0; step < 20; ++step) {
        const CollectiveKind kind = kinds[random.below(3)];
        const u64 bytes = 1 + random.below(5000);
        const std::vector<Phases> chunks = world.cut(parameters, kind, bytes, 0);
        u64 sum = 0;
        for (const Phases& phases : chunks) {
            sum += phases.front().data;
            data_follows_the_shares(parameters, phases, step);
            if (kind == CollectiveKind::all_reduce) {
                an_all_reduce_goes_there_and_back(parameters, phases, step);
            }
        }
        check(padded ? sum >= bytes : sum == bytes, "chunks do not add up to the collective", step);
        check(padded || chunks.size() <= std::max<u64>(parameters.system.chunks, 1), "too many chunks", step);
        for (u32 actor = 1; actor < ranks; ++actor) {
            const std::vector<Phases> others = world.cut(parameters, kind, bytes, actor);
            check(std::equal(chunks.begin(), chunks.end(), others.begin(), others.end(), equal),
                  "members plan differently", step);
        }
        if (world.planner.cuts_alike(kind, parameters.plans[0])) {
            ++alike;
            const std::vector<Phases> again =
                world.cut(parameters, kind, bytes, static_cast<u32>(random.below(ranks)));
            check(std::equal(chunks.begin(), chunks.end(), again.begin(), again.end(), equal),
                  "cut another way the second time", step);
        }
    }
    return alike;
}

void nothing_is_nothing() {
    const std::vector<Dimension> dimensions{{Block::ring, 4, 1.0, 1.0, 1.0}};
    const CollectiveParameters parameters = test::collectives_over(dimensions);
    Semantics semantics{TimeScale::picoseconds(), {}};
    World world(dimensions, parameters, semantics);
    check(world.cut(parameters, CollectiveKind::all_reduce, 1, 0).size() == 1, "a byte is no chunk", 0);
    semantics.quirks.padded_chunks = true;
    check(world.cut(parameters, CollectiveKind::all_gather, 0, 0).empty(), "chunks of nothing", 0);
}

}  // namespace

int main() {
    u32 alike = 0;
    for (u32 seed = 0; seed < 20; ++seed) {
        alike += plans(seed, InterDimension::ascending, false);
        plans(seed, InterDimension::round_robin, false);
        check(plans(seed, InterDimension::themis, false) == 0, "said to be alike, though the load decides", seed);
        alike += plans(seed, InterDimension::ascending, true);
    }
    check(alike > 0, "nothing is cut alike", 0);
    nothing_is_nothing();
}
