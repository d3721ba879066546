// The most urgent chunk starts, of equals the first; members start phases in one order.
// needs: the parts of a run
#include "collective/runtime/queues.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/test.hpp"
#include "collective/test.hpp"

namespace {

using namespace yantra;
using test::check;

CollectiveParameters parameters_with(u32 active_chunks, u32 queues) {
    CollectiveParameters parameters = test::collectives_over({{Block::ring, 2, 1.0, 1.0, 1.0}});
    parameters.system.active_chunks = active_chunks;
    parameters.system.queues_per_dimension = queues;
    return parameters;
}

class World {
public:
    World(u32 active_chunks, u32 queues)
        : parameters_(parameters_with(active_chunks, queues)),
          actors_(2, 1),
          engine_(2),
          queues_(parameters_, semantics_, actors_, engine_, chunks_, nullptr) {}

    ChunkId make(u32 actor, u64 number, i64 priority, const std::vector<u32>& queues) {
        const u32 instance = chunks_.enter();
        chunks_.entered(instance) = {};
        chunks_.entered(instance).actor = ActorId(actor);
        std::vector<Phase> phases(queues.size());
        for (u32 at = 0; at < phases.size(); ++at) {
            phases[at].queue = queues[at];
        }
        const ChunkId chunk = chunks_.make(instance, phases);
        Chunk& c = chunks_[chunk];
        c.id = number;
        c.plan = 0;
        c.priority = priority;
        c.phase = c.first_phase;
        c.queue = queues.front();
        return chunk;
    }
    Chunk& operator[](ChunkId chunk) { return chunks_[chunk]; }
    const Phase& phase(u32 at) const { return chunks_.phase(at); }
    ChunkQueues& queues() { return queues_; }
    u32 running(u32 actor, u32 queue) { return queues_.state().queues[ActorId(actor)][queue].running; }

    // Starts what may start; returns it.
    std::vector<ChunkId> start(u32 actor, u32 queue) {
        std::vector<ChunkId> started;
        while (queues_.may_start(ActorId(actor), queue)) {
            const ChunkId chunk = queues_.next(ActorId(actor), queue);
            if (chunk.is_none()) {
                break;
            }
            queues_.starts(ActorId(actor), queue, chunk);
            queues_.has_started(ActorId(actor), queue);
            started.push_back(chunk);
        }
        return started;
    }
    void end(u32 actor, u32 queue, ChunkId chunk) {
        queues_.leave(ActorId(actor), queue, chunk);
        queues_.place_free(ActorId(actor), queue);
    }

private:
    CollectiveParameters parameters_;
    Semantics semantics_{TimeScale::picoseconds(), {}};
    Actors actors_;
    Engine engine_;
    Chunks chunks_;
    ChunkQueues queues_;
};

void the_most_urgent_starts(u32 seed) {
    test::Random random(seed);
    const u32 active = static_cast<u32>(1 + random.below(6));
    const u32 queues = static_cast<u32>(1 + random.below(3));
    const u32 most = (active + queues - 1) / queues;
    World world(active, queues);
    std::vector<ChunkId> waiting;   // in the order in which they came
    std::vector<ChunkId> running;
    for (u64 step = 0; step < 500; ++step) {
        if (random.one_in(2)) {
            const ChunkId chunk = world.make(0, step, static_cast<i64>(random.below(5)), {0});
            world.queues().enter(chunk);
            waiting.push_back(chunk);
        } else if (!running.empty()) {
            const std::size_t at = random.below(running.size());
            world.end(0, 0, running[at]);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        }
        const std::size_t waited = waiting.size();
        const std::size_t ran = running.size();
        for (ChunkId chunk : world.start(0, 0)) {
            const auto best = std::max_element(
                waiting.begin(), waiting.end(),
                [&](ChunkId a, ChunkId b) { return world[a].priority < world[b].priority; });
            check(chunk == *best, "not the most urgent starts", step);
            waiting.erase(best);
            running.push_back(chunk);
        }
        check(running.size() == std::min<std::size_t>(most, ran + waited), "another number runs", step);
        check(world.running(0, 0) == running.size(), "another number is said to run", step);
        check(world.queues().waits(ActorId(0), 0) == !waiting.empty(), "who waits is not told", step);
    }
}

void members_keep_one_order(u32 seed) {
    test::Random random(seed);
    constexpr u32 queues = 3;
    World world(static_cast<u32>(1 + random.below(6)), queues);
    std::vector<std::vector<u32>> ways(40);
    for (std::vector<u32>& way : ways) {
        way.resize(2 + random.below(2));
        for (u32& queue : way) {
            queue = static_cast<u32>(random.below(queues));
        }
    }
    std::vector<std::pair<u64, u32>> order[2][queues];   // what started: chunk, phase
    std::vector<ChunkId> running[2];
    u64 made[2] = {0, 0};
    u64 ended = 0;
    for (u64 step = 0; ended < 2 * ways.size(); ++step) {
        check(step < 100'000, "members wait for each other for ever", seed);
        const u32 actor = static_cast<u32>(random.below(2));
        std::vector<ChunkId>& runs = running[actor];
        if (made[actor] < ways.size() && random.one_in(3)) {
            const u64 number = made[actor]++;
            world.queues().enter(world.make(actor, number, static_cast<i64>(number), ways[number]));
        } else if (!runs.empty()) {
            const std::size_t at = random.below(runs.size());
            const ChunkId chunk = runs[at];
            runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(at));
            Chunk& c = world[chunk];
            world.end(actor, c.queue, chunk);
            if (++c.phase == c.end_phase) {
                ++ended;
            } else {
                c.queue = world.phase(c.phase).queue;
                c.started = false;
                world.queues().enter(chunk);
            }
        }
        for (u32 queue = 0; queue < queues; ++queue) {
            for (ChunkId chunk : world.start(actor, queue)) {
                order[actor][queue].emplace_back(world[chunk].id, Chunks::phase_number(world[chunk]));
                runs.push_back(chunk);
            }
        }
    }
    for (u32 queue = 0; queue < queues; ++queue) {
        check(order[0][queue] == order[1][queue], "members start phases in different orders", queue);
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 30; ++seed) {
        the_most_urgent_starts(seed);
        members_keep_one_order(seed);
    }
}
