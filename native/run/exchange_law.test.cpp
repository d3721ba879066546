// In a whole run, at once or in slices, every rank is done when the law alone says so.
// needs: the parts of a run
#include <algorithm>
#include <memory>
#include <vector>

#include "collective/exchange/test.hpp"
#include "collective/reduction.hpp"
#include "model/test.hpp"
#include "run/simulation.hpp"

namespace {

using namespace yantra;
using test::check;

constexpr u64 bytes_of_chunk = 120;

struct Case {
    Model model;
    std::vector<u64> starts;   // by rank
};

ExchangeProgram exchange_across(test::Random& random, u32 ranks, u32 apart) {
    const u64 sends = 2 + random.below(5);
    std::vector<Run> runs;
    for (u64 packet = 0; packet <= sends; ++packet) {
        Run run;
        run.count = 1;
        run.out = random.one_in(2) ? static_cast<i32>(apart * (1 + random.below(ranks / apart - 1)))
                                   : 1 + static_cast<i32>(random.below(ranks - 1));
        run.into = -run.out;
        run.bytes = {1, 2};
        runs.push_back(run);
    }
    return make_exchange(runs, 1, sends, {});
}

Case any_case(test::Random& random) {
    const u32 apart = random.one_in(4) ? 2 + static_cast<u32>(random.below(2)) : 0;
    const u32 ranks = apart > 0 ? apart * (6 + static_cast<u32>(random.below(6)))
                                : 2 + static_cast<u32>(random.below(random.one_in(3) ? 40 : 8));
    const u64 chunks = 1 + random.below(4);
    Case made;
    std::vector<std::shared_ptr<const Job>> jobs;
    const u64 latest = apart > 0 ? 200'000 : 200;   // a message takes some 50'000
    const u64 starts[] = {1, 1 + random.below(latest), 1 + random.below(latest)};
    const u64 different = 1 + random.below(3);
    for (u32 rank = 0; rank < ranks; ++rank) {
        const u64 start = apart > 0 ? starts[rank % apart] : starts[random.below(different)];
        made.starts.push_back(apart == 0 && random.one_in(8) ? 1 + random.below(200) : start);
        jobs.push_back(test::job_of({{test::timed(1, made.starts.back()), {}},
                                     {test::collective(CollectiveKind::all_reduce, chunks * bytes_of_chunk), {0}}}));
    }
    const Block block = apart > 0 || random.one_in(2) ? Block::fully_connected : Block::ring;
    made.model = test::model_of({{block, ranks, 0.5 + static_cast<double>(random.below(4)),
                                  0.01 * static_cast<double>(random.below(4)), 1.0}},
                                jobs);
    made.model.semantics.quirks.links_carry_anything = true;   // so that no message waits
    CollectiveParameters& collectives = made.model.collectives;
    collectives.system.chunks = chunks;
    collectives.system.active_chunks = random.one_in(2) ? 1 : chunks;
    collectives.system.endpoint_delay = random.one_in(4) ? 0 : 1 + random.below(20);
    collectives.system.memory_bytes_per_s = random.one_in(4) ? 4e14 : 5e10;
    for (Program& program : collectives.programs) {
        program.machine = apart > 0 ? exchange_across(random, ranks, apart)
                                    : test::any_exchange(random, ranks);
    }
    return made;
}

struct Expected {
    explicit Expected(const Case& of) : ends(of.starts) {
        const CollectiveParameters& collectives = of.model.collectives;
        const Program& program = collectives.programs[0];
        Simulation run(of.model);
        const auto reduction = [&](u64 bytes) {
            return reduction_ticks(collectives.system.memory_bytes_per_s, of.model.semantics.scale, bytes);
        };
        const auto message = [&](const exchange::PeersOf& peers, u64 bytes) {
            FastPath& network = *run.network().capabilities().fast_path;
            return network.fixed_way({RankId(peers.place.position), RankId(peers.to()), bytes}).ticks;
        };
        for (u64 in_turn = collectives.system.active_chunks == 1 ? collectives.system.chunks : 1; in_turn > 0; --in_turn) {
            const test::ByLaw all({std::get<ExchangeProgram>(program.machine), ends, bytes_of_chunk, program.round_up, true,
                                   collectives.system.endpoint_delay, reduction, message});
            is_known = is_known && !all.order_decides && std::ranges::max(all.ends) != never;
            ends = is_known ? all.ends : ends;
        }
    }

    std::vector<u64> ends;
    bool is_known = true;   // all end, and order within a tick does not matter
};

std::vector<u64> ends_by(const Model& model, u64 slice) {
    Simulation run(model);
    run.start();
    while (!run.run_for(slice)) {
    }
    return run.executor().state().finish.values();
}

}  // namespace

int main() {
    u64 known = 0;
    u64 with_barrier = 0;
    for (u32 seed = 0; seed < 1500; ++seed) {
        test::Random random(seed);
        const Case any = any_case(random);
        const Expected expected(any);
        if (!expected.is_known) {
            continue;
        }
        ++known;
        with_barrier += std::get<ExchangeProgram>(any.model.collectives.programs[0].machine).barrier_at > 0;
        for (const u64 slice : {~u64{0}, u64{1}, u64{7}}) {
            check(ends_by(any.model, slice) == expected.ends, "a rank ends at another tick", seed);
        }
    }
    check(known > 700 && with_barrier > 150, "too few cases are known", known);
}
