// A node starts at once when all before it have ended and a slot is free, also of jobs that arrive.
// needs: the parts of a run
#include "run/simulation.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "model/test.hpp"
#include "workload/schedule.cpp"

namespace {

using namespace yantra;
using test::check;
using test::Node;

using JobRef = std::shared_ptr<const Job>;
constexpr u64 all = ~u64{0};

const std::vector<Dimension> pair_of_ranks{{Block::fully_connected, 2, 1.0, 10.0, 1.0}};
const std::vector<Dimension> two_by_two{{Block::ring, 2, 1.0, 10.0, 1.0}, {Block::ring, 2, 2.0, 5.0, 1.0}};

JobRef nothing() { return test::job_of({}); }

JobRef any_job(test::Random& random, u64 size) {
    std::vector<Node> nodes;
    std::vector<i64> priority(size, 0);
    for (i64& of : priority) {
        of = static_cast<i64>(random.below(5)) - 2;
    }
    for (u32 at = 0; at < size; ++at) {
        const u8 slot = random.one_in(8) ? unlimited : static_cast<u8>(random.below(3));
        nodes.push_back({test::timed(slot, 1 + random.below(30)), {}});
        for (u32 parent = 0; parent < at; ++parent) {
            if (random.one_in(4)) {
                nodes.back().parents.push_back(parent);
            }
        }
    }
    const JobRef job = test::job_of(nodes);
    return random.one_in(2) ? scheduled(*job, priority, {}) : job;
}

struct Ran {
    JobRef job;
    u64 begun = 0;
    u32 first_place = 0;
};

struct Interval {
    u32 slot;
    u32 position;
    u64 ready;
    u64 start;
    u64 end;
};

std::vector<Interval> intervals(const Nodes::State& state, const std::vector<Ran>& jobs) {
    std::vector<Interval> found;
    for (const Ran& ran : jobs) {
        const Graph& graph = *ran.job->graph;
        std::vector<u64> ready(graph.size(), ran.begun);
        for (u32 node = 0; node < graph.size(); ++node) {
            const u64 end = state.end[ran.first_place + node];
            check(end != never, "a node never ended", node);
            for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
                ready[graph.child[i]] = std::max(ready[graph.child[i]], end);
            }
        }
        for (u32 node = 0; node < graph.size(); ++node) {
            const u64 start = state.start[ran.first_place + node];
            check(start >= ready[node], "a node starts before it may", node);
            found.push_back({ran.job->ops[node].resource, ran.first_place + position_of(*ran.job, node),
                             ready[node], start, state.end[ran.first_place + node]});
        }
    }
    return found;
}

void slots_are_kept(const std::vector<Interval>& nodes, const std::vector<u32>& capacity) {
    const auto running = [&](u32 slot, u64 tick) {
        return static_cast<u32>(std::count_if(nodes.begin(), nodes.end(), [&](const Interval& other) {
            return other.slot == slot && other.start <= tick && tick < other.end;
        }));
    };
    for (const Interval& node : nodes) {
        if (node.slot == unlimited) {
            check(node.start == node.ready, "a node waits for nothing", node.ready);
            continue;
        }
        check(running(node.slot, node.start) <= capacity[node.slot], "too many in a slot", node.start);
        for (const Interval& other : nodes) {
            check(other.slot != node.slot || other.position > node.position || other.ready >= node.start ||
                      other.start <= node.start,
                  "a node starts before one that stands before it", node.start);
            const bool looks = other.slot == node.slot && node.ready <= other.end && other.end < node.start;
            check(!looks || running(node.slot, other.end) == capacity[node.slot],
                  "a node waits although its slot is free", other.end);
        }
        check(node.start == node.ready || running(node.slot, node.ready) == capacity[node.slot],
              "a node waits although its slot was free", node.ready);
    }
}

void a_graph_runs_in_its_order(u32 seed) {
    test::Random random(seed);
    std::vector<JobRef> jobs{any_job(random, 40), any_job(random, 40)};
    Model model = test::model_of(pair_of_ranks, jobs);
    for (u32& capacity : model.work.resources.capacity) {
        capacity = static_cast<u32>(1 + random.below(3));
    }
    Simulation run(model);
    run.start();
    check(run.run_for(all) && run.nodes_done() == 80, "nodes are left", seed);
    const Nodes::State& state = run.executor().state();
    for (u32 actor = 0; actor < 2; ++actor) {
        slots_are_kept(intervals(state, {{jobs[actor], 0, 40 * actor}}), model.work.resources.capacity);
    }
}

class Arrivals {
public:
    explicit Arrivals(u32 seed)
        : random_(seed),
          own_{any_job(random_, 10), any_job(random_, 10)},
          model_(test::model_of(pair_of_ranks, own_)),
          run_(model_) {
        run_.start();
    }

    void come_and_go() {
        for (u32 i = 0; i < 12; ++i) {
            submit();
            run_on(random_.below(30));
            withdraw();
        }
        while (!run_.run_for(all)) {
            take_ended();
        }
        take_ended();
    }

    void check_all() {
        std::vector<Ran> of_actor[2] = {{{own_[0], 0, 0}}, {{own_[1], 0, 10}}};
        for (u32 number = 0; number < submitted_.size(); ++number) {
            const auto& [jobs, tick, withdrawn] = submitted_[number];
            const LaterJobs::Arrival& arrival = run_.arrival(number);
            check(ended_.contains(number) == !withdrawn, "not reported, or reported too much", number);
            check(arrival.begun == (withdrawn ? never : tick), "jobs begin at another tick", number);
            u64 end = tick;
            for (u32 at = 0; at < arrival.first_place.size(); ++at) {
                const auto& [rank, job] = jobs[at];
                of_actor[rank.index()].push_back({job, tick, arrival.first_place[at]});
                for (u32 node = 0; node < job->graph->size(); ++node) {
                    end = std::max(end, run_.executor().state().end[arrival.first_place[at] + node]);
                }
            }
            check(arrival.ended == (withdrawn ? never : end), "jobs end at another tick", number);
        }
        for (const std::vector<Ran>& ran : of_actor) {
            slots_are_kept(intervals(run_.executor().state(), ran), model_.work.resources.capacity);
        }
    }

private:
    struct Submitted {
        Simulation::Jobs jobs;
        u64 tick;
        bool withdrawn = false;
    };

    void submit() {
        Simulation::Jobs jobs;
        for (u32 rank = 0; rank < 2; ++rank) {
            if (random_.one_in(2)) {
                jobs.emplace_back(RankId(rank), any_job(random_, random_.below(10)));
            }
        }
        const u64 tick = run_.now() + random_.below(60);
        check(run_.submit(jobs, tick) == submitted_.size(), "an arrival has another number", tick);
        submitted_.push_back({jobs, tick});
    }
    void run_on(u64 events) {
        for (; events > 0 && !run_.over(); --events) {
            run_.run_for(1);
            take_ended();
        }
    }
    void withdraw() {
        const u32 number = static_cast<u32>(random_.below(submitted_.size()));
        Submitted& any = submitted_[number];
        const bool may = run_.arrival(number).begun == never && !any.withdrawn;
        check(run_.withdraw(number) == may, "taken back too late, or not at all", number);
        any.withdrawn = any.withdrawn || may;
    }
    void take_ended() {
        for (u32 number : run_.take_ended()) {
            check(ended_.insert(number).second, "an arrival ends twice", number);
            check(run_.arrival(number).ended == run_.now(), "an end is reported late", number);
        }
    }

    test::Random random_;
    std::vector<JobRef> own_;
    Model model_;
    Simulation run_;
    std::vector<Submitted> submitted_;
    std::set<u32> ended_;
};

JobRef job_of_rank(u32 rank, u32 ranks) {
    return test::job_of({{test::timed(1, 100 + 10 * rank), {}},
                         {test::collective(CollectiveKind::all_reduce, 1000), {0}},
                         {test::message(true, (rank + 1) % ranks, 500), {0}},
                         {test::message(false, (rank + ranks - 1) % ranks, 500), {}},
                         {test::timed(1, 50), {1, 3}},
                         {test::collective(CollectiveKind::all_gather, 64), {4}}});
}

void on_an_idle_system_a_job_runs_as_alone(const std::string& network, u64 tick) {
    std::vector<JobRef> jobs;
    Simulation::Jobs arriving;
    for (u32 rank = 0; rank < 4; ++rank) {
        jobs.push_back(job_of_rank(rank, 4));
        arriving.emplace_back(RankId(rank), jobs.back());
    }
    const auto model_of = [&](const std::vector<JobRef>& own) {
        Model model = test::model_of(two_by_two, own);
        model.network.choice.level = network;
        model.collectives.system.chunks = 4;
        model.collectives.system.active_chunks = 2;
        return model;
    };
    const Model with_jobs = model_of(jobs);
    const Model without = model_of({nothing(), nothing(), nothing(), nothing()});
    Simulation alone(with_jobs);
    alone.start();
    check(alone.run_for(all) && alone.nodes_done() == 24, "nodes are left", tick);
    Simulation later(without);
    later.start();
    later.submit(arriving, tick);
    while (!later.run_for(all)) {
    }
    check(later.nodes_done() == 24, "nodes of jobs that arrived are left", tick);
    check(later.take_ended() == std::vector<u32>{0}, "jobs that arrived did not end", tick);
    for (u32 rank = 0; rank < 4; ++rank) {
        for (u32 node = 0; node < 6; ++node) {
            const Nodes::State& a = alone.executor().state();
            const Nodes::State& b = later.executor().state();
            const u32 place = later.arrival(0).first_place[rank] + node;
            check(b.start[place] == a.start[6 * rank + node] + tick, "a node starts at another time", node);
            check(b.end[place] == a.end[6 * rank + node] + tick, "a node ends at another time", node);
        }
    }
}

}  // namespace

int main() {
    for (u32 seed = 0; seed < 30; ++seed) {
        a_graph_runs_in_its_order(seed);
        Arrivals arrivals(seed);
        arrivals.come_and_go();
        arrivals.check_all();
    }
    for (u64 tick : {u64{0}, u64{1}, u64{12'345}, u64{1} << 40U}) {
        on_an_idle_system_a_job_runs_as_alone("analytical", tick);
        on_an_idle_system_a_job_runs_as_alone("store_and_forward", tick);
    }
}
