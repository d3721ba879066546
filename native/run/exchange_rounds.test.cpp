// Rounds of rings that are passed at once leave behind what they would one event at a time.
//
// The oracle is the same run made to pause after every event, for which no loop is entered. Some ranks compute
// meanwhile, so that rounds are cut off at any time.
//
// needs: the parts of a run
#include <memory>
#include <tuple>
#include <variant>

#include "base/vector.hpp"
#include "model/test.hpp"
#include "run/simulation.hpp"

namespace {

using namespace yantra;
using test::check;

Model any_model(test::Random& random) {
    Vector<Dimension> dimensions{
        {Block::ring, 6 + static_cast<u32>(random.below(20)), 0.5 + random.below(4), 0.01 * random.below(4), 1.0}};
    if (random.below(2) == 0) {
        dimensions.push_back({Block::ring, 2 + static_cast<u32>(random.below(6)), 2.0, 0.01, 1.0});
    }
    u32 ranks = 1;
    for (const Dimension& dimension : dimensions) {
        ranks *= dimension.size;
    }
    Vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u64 other = random.below(8) == 0 ? 1 + random.below(3000) : 1;
        jobs.push_back(test::job_of({{test::timed(1, 5), {}},
                                     {test::collective(CollectiveKind::all_reduce, 4000), {0}},
                                     {test::timed(1, other), {0}},
                                     {test::timed(1, other / 2 + 1), {2}}}));
    }
    Model model = test::model_of(dimensions, jobs);
    model.network.choice.level = random.below(2) == 0 ? "analytical" : "store_and_forward";
    model.collectives.system.chunks = 1 + static_cast<u32>(random.below(3));
    model.collectives.system.endpoint_delay = 1 + random.below(20);
    for (Program& program : model.collectives.programs) {
        auto& machine = std::get<ExchangeProgram>(program.machine);
        if (random.below(2) == 0) {
            machine.runs[0].reduce = {1, 1 + random.below(8)};
        }
        if (random.below(2) == 0 && machine.sends > 4) {
            machine.barrier_at = 1 + random.below(3);
            machine.barrier_receipts = machine.sends - machine.barrier_at;
        }
    }
    return model;
}

struct Left {
    Vector<u64> numbers;
    u64 slices = 0;
};

Left left_by(const Model& model, u64 slice) {
    Simulation run(model);
    Left left;
    run.start();
    while (!run.run_for(slice)) {
        ++left.slices;
    }
    const Executor::State& state = run.executor().state();
    check(state.finish_order.size() == model.work.job_of.size(), "a run does not end", slice);
    left.numbers = state.finish.values();
    for (const ActorId actor : state.finish_order) {
        left.numbers.push_back(actor.index());
    }
    for (const LinkUse& of : run.network().dimensions()) {
        left.numbers.insert(left.numbers.end(), {of.bytes, of.messages, of.busy_ticks});
    }
    for (const LinkRecord& link : run.network().links()) {
        left.numbers.insert(left.numbers.end(), {link.from, link.use.bytes, link.use.messages, link.use.busy_ticks});
    }
    // Heads that come to a port in one tick are sorted in an event more or less.
    const u64 events = model.network.choice.level == "analytical" ? 0 : run.engine().queue.processed();
    left.numbers.insert(left.numbers.end(), {events, run.transport().state().messages});
    return left;
}

}  // namespace

int main() {
    u64 passed = 0;
    for (u32 seed = 0; seed < 150; ++seed) {
        test::Random random(seed);
        const Model model = any_model(random);
        const Left one_by_one = left_by(model, 1);
        const Left at_once = left_by(model, ~u64{0});
        check(at_once.numbers == one_by_one.numbers, "rounds passed at once leave something else", seed);
        // A round that is passed is in no slice of the run.
        const Left in_slices = left_by(model, 200);
        check(in_slices.numbers == one_by_one.numbers, "a pause between rounds changes them", seed);
        passed += in_slices.slices < one_by_one.slices / 800 ? 1 : 0;
    }
    check(passed > 20, "rounds are not passed", passed);
    return 0;
}
