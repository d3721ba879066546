// Ranks in step are handled in loops, and leave behind what they would one event at a time.
//
// The oracle is the same run made to pause after every event, for which no loop is entered.
//
// needs: the parts of a run
#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <variant>

#include "base/vector.hpp"
#include "model/test.hpp"
#include "run/simulation.hpp"

namespace {

using namespace yantra;
using test::check;

// Rings and blocks where all are neighbours; packets that are reduced or not, run after run, with and
// without a barrier, over links that are slow to free or free at once.
Model any_model(test::Random& random) {
    Vector<Dimension> dimensions;
    u32 ranks = 1;
    for (u64 more = 1 + random.below(2); more > 0; --more) {
        const u32 size = 2 + static_cast<u32>(random.below(11));
        const Block block = random.below(3) == 0 ? Block::fully_connected : Block::ring;
        dimensions.push_back({block, size, 0.5 + random.below(4), 0.01 * random.below(4), 1.0});
        ranks *= size;
    }
    // Most ranks begin together, some at a time of their own.
    Vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u64 late = random.below(8) == 0 ? 1 + random.below(40) : 5;
        jobs.push_back(test::job_of({{test::timed(1, late), {}},
                                     {test::collective(CollectiveKind::all_reduce, 4000), {0}},
                                     {test::collective(CollectiveKind::all_gather, 100), {0}},
                                     {test::collective(CollectiveKind::reduce_scatter, 640), {1}}}));
    }
    Model model = test::model_of(dimensions, jobs);
    model.network.choice.level = random.below(2) == 0 ? "analytical" : "store_and_forward";
    model.collectives.system.chunks = 1 + static_cast<u32>(random.below(4));
    model.collectives.system.active_chunks = 1 + static_cast<u32>(random.below(3));
    model.collectives.system.endpoint_delay = random.below(4) == 0 ? 0 : 1 + random.below(20);
    model.collectives.system.memory_bytes_per_s = random.below(4) == 0 ? 4e14 : 5e10;
    const bool in_parts = random.below(2) == 0;
    for (Program& program : model.collectives.programs) {
        auto& machine = std::get<ExchangeProgram>(program.machine);
        Run& all = machine.runs[0];
        if (random.below(2) == 0) {
            all.reduce = {1, 1 + random.below(8)};
        }
        if (in_parts && all.count > 2) {
            Run rest = all;
            rest.count = all.count - all.count / 2;
            rest.reduce = {0, 1};
            all.count /= 2;
            machine.runs.push_back(rest);
        }
        if (random.below(3) == 0 && machine.sends > 2) {
            machine.barrier_at = 1;
            machine.barrier_receipts = machine.sends / 2;
        }
    }
    return model;
}

auto left_by(const Model& model, u64 slice) {
    Simulation run(model);
    run.start();
    while (!run.run_for(slice)) {
    }
    const Executor::State& left = run.executor().state();
    check(left.finish_order.size() == model.work.job_of.size(), "a run does not end", slice);
    Vector<u64> use;
    for (const LinkUse& of : run.network().dimensions()) {
        use.insert(use.end(), {of.bytes, of.messages, of.busy_ticks});
    }
    for (const LinkRecord& link : run.network().links()) {
        use.insert(use.end(), {link.from, link.to, link.use.bytes, link.use.messages, link.use.busy_ticks});
    }
    // Heads that come to a port in one tick are sorted in an event more or less.
    const u64 events = model.network.choice.level == "analytical" ? 0 : run.engine().queue.processed();
    return std::tuple(left.finish.values(), left.finish_order, left.start, left.end,
                      events, run.transport().state().messages, use);
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 150; ++seed) {
        test::Random random(seed);
        const Model model = any_model(random);
        const auto at_once = left_by(model, ~u64{0});
        check(at_once == left_by(model, 1), "ranks in step leave something else", seed);
        check(at_once == left_by(model, 7), "a pause within a run of events changes it", seed);
    }
    return 0;
}
