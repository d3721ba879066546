// Loops and rounds of ranks in step leave behind what one event at a time does.
// needs: the parts of a run
#include <memory>
#include <tuple>
#include <variant>
#include <vector>

#include "model/test.hpp"
#include "run/simulation.hpp"

namespace {

using namespace yantra;
using test::check;

Model any_model(test::Random& random) {
    std::vector<Dimension> dimensions;
    const bool is_alone = random.below(3) > 0;   // a collective of rings, where rounds are passed
    u32 ranks = 1;
    for (u64 more = 1 + random.below(2); more > 0; --more) {
        const u32 size = (is_alone ? 6 : 2) + static_cast<u32>(random.below(dimensions.empty() ? 20 : 6));
        const Block block = !is_alone && random.below(3) == 0 ? Block::fully_connected : Block::ring;
        dimensions.push_back({block, size, 0.5 + random.below(4), 0.01 * random.below(4), 1.0});
        ranks *= size;
    }
    std::vector<std::shared_ptr<const Job>> jobs;
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u64 late = !is_alone && random.below(8) == 0 ? 1 + random.below(40) : 5;
        const u64 other = random.below(8) == 0 ? 1 + random.below(3000) : 1;
        std::vector<test::Node> nodes{{test::timed(1, late), {}},
                                      {test::collective(CollectiveKind::all_reduce, 4000), {0}},
                                      {test::timed(1, other), {0}},
                                      {test::timed(1, other / 2 + 1), {2}}};
        if (!is_alone) {
            nodes.push_back({test::collective(CollectiveKind::all_gather, 100), {0}});
            nodes.push_back({test::collective(CollectiveKind::reduce_scatter, 640), {1}});
        }
        jobs.push_back(test::job_of(nodes));
    }
    Model model = test::model_of(dimensions, jobs);
    model.network.choice.level = random.below(3) == 0 ? "analytical" : "store_and_forward";
    model.semantics.quirks.links_carry_anything = random.one_in(2);
    model.collectives.system.chunks = 1 + static_cast<u32>(random.below(4));
    model.collectives.system.active_chunks = is_alone ? 1 : 1 + static_cast<u32>(random.below(3));
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
            machine.barrier_at = 1 + random.below(machine.sends / 2);
            machine.barrier_receipts = machine.sends / 2;
        }
    }
    return model;
}

struct Left {
    std::vector<u64> numbers;
    u64 slices = 0;
};

Left left_by(const Model& model, u64 slice) {
    Simulation run(model);
    Left left;
    run.start();
    while (!run.run_for(slice)) {
        ++left.slices;
    }
    const Nodes::State& state = run.executor().state();
    check(state.finish_order.size() == model.work.job_of.size(), "a run does not end", slice);
    left.numbers = state.finish.values();
    for (const ActorId actor : state.finish_order) {
        left.numbers.push_back(actor.index());
    }
    left.numbers.insert(left.numbers.end(), state.start.begin(), state.start.end());
    left.numbers.insert(left.numbers.end(), state.end.begin(), state.end.end());
    for (const LinkUse& of : run.network().dimensions()) {
        left.numbers.insert(left.numbers.end(), {of.bytes, of.messages, of.busy_ticks});
    }
    for (const LinkRecord& link : run.network().links()) {
        left.numbers.insert(left.numbers.end(),
                            {link.from, link.to, link.use.bytes, link.use.messages, link.use.busy_ticks});
    }
    const bool sorts = model.network.choice.level == "analytical" && !model.semantics.quirks.links_carry_anything;
    left.numbers.insert(left.numbers.end(),
                        {sorts ? 0 : run.engine().queue.processed(), run.transport().state().messages});
    return left;
}

}  // namespace

int main() {
    u64 passed = 0;
    for (u32 seed = 0; seed < 250; ++seed) {
        test::Random random(seed);
        const Model model = any_model(random);
        const Left one_by_one = left_by(model, 1);
        for (const u64 slice : {~u64{0}, u64{7}, u64{200}}) {
            const Left left = left_by(model, slice);
            check(left.numbers == one_by_one.numbers, "what is handled at once, or cut off, leaves something else", seed);
            passed += slice == 200 && left.slices < one_by_one.slices / 800 ? 1 : 0;
        }
    }
    check(passed > 10, "rounds are not passed", passed);
}
