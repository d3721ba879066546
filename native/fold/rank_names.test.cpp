// Ranks that do the same have equal indices and jobs.
// needs: collective/communicator.cpp, workload/rank_rules.cpp, fabric/grid.cpp
#include "fold/rank_names.hpp"

#include <bit>
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "model/test.hpp"

namespace {

using namespace yantra;
using test::check;
using Nodes = std::vector<test::Node>;

Op in_group(u32 communicator, CollectiveKind kind = CollectiveKind::all_gather) {
    Op op = test::collective(kind, 100);
    op.communicator = communicator;
    return op;
}

Model model_of(const std::vector<Nodes>& jobs) {
    std::vector<std::shared_ptr<const Job>> made;
    for (const Nodes& nodes : jobs) {
        made.push_back(test::job_of(nodes));
    }
    const u32 ranks = static_cast<u32>(jobs.size());
    Model model = test::model_of({{Block::ring, ranks, 1.0, 1.0, 1.0}}, made);
    model.collectives.communicators.resize(6);
    model.collectives.queue_sets.resize(6);
    return model;
}

std::vector<u32> kinds_of(const JobNames& names) {
    std::vector<u32> kinds;
    for (const NamedCommunicator& named : names.communicators) {
        kinds.push_back(named.kinds);
    }
    return kinds;
}

void names_are_numbered_by_first_use() {
    using enum CollectiveKind;
    const Model model = model_of({{{in_group(3), {}},
                                   {in_group(1, all_reduce), {}},
                                   {in_group(3, all_reduce), {}},
                                   {test::message(false, 7, 1), {}},
                                   {test::message(false, 4, 1), {}},
                                   {test::message(true, 4, 1), {}},
                                   {test::message(false, 7, 1), {}}},
                                  {{in_group(2), {}}, {in_group(4), {}}, {in_group(3), {}}}});
    const RankNames names(model);
    const JobNames& job = names.of(0);
    check(job.job == model.work.distinct_jobs[0].get(), "names of another job", 0);
    check(job.communicators.size() == 2 && job.communicators[0].name == 3, "communicators", 0);
    const u32 both = 1u << static_cast<u32>(all_gather) | 1u << static_cast<u32>(all_reduce);
    check(kinds_of(job) == std::vector<u32>{both, 1u << static_cast<u32>(all_reduce)}, "kinds", 0);
    check(job.peers == std::vector<u32>{7, 4}, "peers", 0);
    check(job.sends == std::vector<bool>{false, true}, "to whom messages are sent", 0);
    check(!job.has_custom_collective && !job.accesses_memory, "what the job has not", 0);
    const std::vector<u32> all[2] = {{3, 1}, {2, 4, 3}};
    for (u32 rank = 0; rank < 2; ++rank) {
        for (u32 index = 0; index < all[rank].size(); ++index) {
            check(names.communicator(rank, index) == all[rank][index], "a communicator by index", index);
        }
        for (u32 communicator = 0; communicator < 6; ++communicator) {
            const auto found = std::find(all[rank].begin(), all[rank].end(), communicator);
            const u32 index = found == all[rank].end() ? none : static_cast<u32>(found - all[rank].begin());
            check(names.communicator_index(rank, communicator) == index, "its index", communicator);
        }
    }
    check(names.peer(0, 0) == 7 && names.peer(0, 1) == 4, "a peer by its index", 0);
    check(names.peer_index(0, 7) == 0 && names.peer_index(0, 4) == 1, "the index of a peer", 0);
    check(names.peer_index(0, 5) == none && names.peer_index(1, 7) == none, "a peer not named", 0);
}

void names_of_a_template_follow_its_rules() {
    const Nodes nodes{{in_group(1), {}}, {in_group(0), {}}, {test::message(true, 0, 1), {}}};
    Model model = model_of({nodes, nodes});
    model.work.job_of = {0, 0};
    auto rules = std::make_shared<RankRules>();
    rules->communicators.emplace_back(0, 2, false, std::vector<AxisSum::Axis>{{1, 2, 3, {}}});
    rules->peers.emplace_back(0, 1, true, std::vector<AxisSum::Axis>{});
    model.work.rules[0] = rules;
    const RankNames names(model);
    for (u32 rank = 0; rank < 2; ++rank) {
        check(names.communicator(rank, 0) == 2 + 3 * rank, "a communicator by rule", rank);
        check(names.communicator(rank, 1) == 0, "all ranks have no rule", rank);
        check(names.communicator_index(rank, 2 + 3 * rank) == 0, "its index", rank);
        check(names.communicator_index(rank, 5 - 3 * rank) == none, "that of the other rank", rank);
        check(names.peer(rank, 0) == rank + 1 && names.peer_index(rank, rank + 1) == 0, "a peer", rank);
        check(names.peer_index(rank, 3) == none, "another peer", rank);
    }
}

void what_a_job_has_is_seen() {
    Op custom = in_group(0);
    custom.custom = 0;
    Op memory = test::timed(0, 1);
    memory.kind = OpKind::memory;
    const Model model = model_of({{{custom, {}}}, {{memory, {}}}});
    const RankNames names(model);
    check(names.by_job().size() == 2, "a job is missing", names.by_job().size());
    check(names.of(0).has_custom_collective && !names.of(0).accesses_memory, "a custom collective", 0);
    check(!names.of(1).has_custom_collective && names.of(1).accesses_memory, "remote memory", 0);
}

bool are_equal(const Nodes& one, const Nodes& other) {
    const Model model = model_of({one, other});
    const std::vector<u32> first = RankNames(model).first_equal_job();
    check(first.size() == 2 && first[0] == 0, "the first job is equal to itself", 0);
    check(first[1] < 2, "a job is equal to one that is not there", first[1]);
    return first[1] == 0;
}

void jobs_are_equal_apart_from_names() {
    const Nodes job{{in_group(1), {}}, {in_group(2), {0}}, {test::message(true, 5, 9), {0, 1}}};
    Nodes other = job;
    check(are_equal(job, other), "a job is not equal to itself", 0);
    other[0].op.communicator = 4;
    other[1].op.communicator = 1;
    other[2].op.peer = 3;
    check(are_equal(job, other), "jobs that differ in names are not equal", 0);
    other[1].op.communicator = 4;
    check(!are_equal(job, other), "two groups are as one", 0);
    other = job;
    other.push_back({test::timed(0, 1), {}});
    check(!are_equal(job, other) && !are_equal(other, job), "a longer job is equal", 0);
    for (u32 at = 0; at < 3; ++at) {
        other = job;
        other[2].parents = at == 0   ? std::vector<u32>{0}
                           : at == 1 ? std::vector<u32>{1}
                                     : std::vector<u32>{};
        check(!are_equal(job, other), "jobs with other edges are equal", at);
    }
    const Nodes messages{{test::message(true, 5, 9), {}}, {test::message(true, 4, 9), {}},
                         {test::message(true, 5, 9), {}}};
    other = messages;
    other[2].op.peer = 4;
    check(!are_equal(messages, other), "messages to other peers are equal", 0);
}

template <class Change>
void tells(const char* what, const Op& op, Change&& change) {
    Op changed = op;
    change(changed);
    check(!are_equal({{op, {}}}, {{changed, {}}}), what, 0);
}

void operations_are_compared_in_full() {
    for (const Op& op : {test::timed(0, 5), in_group(0), test::message(true, 1, 5)}) {
        tells("kind", op, [](Op& o) { o.kind = OpKind::memory; });
        tells("class", op, [](Op& o) { o.node_class = NodeClass::invalid; });
        tells("slot", op, [](Op& o) { o.resource += 1; });
        tells("wakes", op, [](Op& o) { o.wakes = false; });
        tells("slot and wakes", op, [](Op& o) { o.resource ^= 1, o.wakes = false; });
        tells("collective", op, [](Op& o) { o.collective = CollectiveKind::barrier; });
        tells("tag", op, [](Op& o) { o.tag = 8; });
        tells("custom", op, [](Op& o) { o.custom = 8; });
        tells("bytes", op, [](Op& o) { o.bytes = 8; });
        tells("ticks", op, [](Op& o) { o.ticks = 8; });
        tells("busy ticks", op, [](Op& o) { o.busy_ticks = 8; });
        tells("dimensions", op, [](Op& o) { o.involved = 8; });
        tells("priority", op, [](Op& o) { o.priority = 8; });
        Op eight = op;
        eight.tag = eight.custom = 8;
        eight.bytes = eight.ticks = eight.busy_ticks = eight.involved = 8;
        eight.priority = 8;
        tells("tag of all alike", eight, [](Op& o) { o.tag = 9; });
        tells("bytes of all alike", eight, [](Op& o) { o.bytes = 9; });
        tells("priority of all alike", eight, [](Op& o) { o.priority = 9; });
    }
}

void the_order_of_nodes_counts() {
    const Nodes nodes{{test::timed(0, 1), {}}, {test::timed(0, 1), {}}, {test::timed(0, 1), {}}};
    Model model = model_of({nodes, nodes, nodes});
    for (const auto& [job, position] :
         {std::pair{1u, std::vector<u32>{2, 1, 0}}, {2u, {1, 2, 0}}}) {
        auto made = std::make_shared<Job>(*model.work.distinct_jobs[job]);
        made->position = position;
        model.work.distinct_jobs[job] = made;
    }
    check(RankNames(model).first_equal_job() == std::vector<u32>{0, 1, 2}, "orders do not count",
          0);
    model.work.distinct_jobs[2] = std::make_shared<Job>(*model.work.distinct_jobs[1]);
    check(RankNames(model).first_equal_job() == std::vector<u32>{0, 1, 1}, "equal orders are not",
          0);
}

void jobs_that_only_look_equal_are_not() {
    const auto of_ticks = [](u64 ticks) { return std::rotl(ticks * 0x9e3779b97f4a7c15U, 23); };
    const Op one = test::timed(0, 5);
    Op other = one;
    other.ticks = 6;
    other.bytes = one.bytes ^ of_ticks(one.ticks) ^ of_ticks(other.ticks);
    for (const u32 at : {0u, 1u}) {
        Nodes first{{one, {}}, {test::timed(0, 1), {}}};
        Nodes second = first;
        second[0].op = other;
        if (at == 1) {
            first.pop_back();
            second.pop_back();
        }
        const Model model = model_of({first, second});
        const RankNames names(model);
        check(names.of(0).hash == names.of(1).hash, "the hashes differ; how do ticks count in them?", at);
        check(names.first_equal_job()[1] == 1, "jobs of one hash are equal", at);
    }
}

void the_first_equal_job_is_found() {
    std::vector<Nodes> jobs;
    std::vector<u32> expected;
    test::Random random(0);
    std::vector<u32> first(8, none);
    for (u32 job = 0; job < 40; ++job) {
        const u32 kind = static_cast<u32>(random.below(8));
        const std::vector<u32> parents = kind % 2 == 0 ? std::vector<u32>{} : std::vector<u32>{0};
        jobs.push_back({{test::timed(0, kind / 2), {}}, {in_group(job % 6), parents}});
        first[kind] = first[kind] == none ? job : first[kind];
        expected.push_back(first[kind]);
    }
    const Model model = model_of(jobs);
    check(RankNames(model).first_equal_job() == expected, "another job is equal", 0);
}

}  // namespace

int main() {
    names_are_numbered_by_first_use();
    names_of_a_template_follow_its_rules();
    what_a_job_has_is_seen();
    jobs_are_equal_apart_from_names();
    operations_are_compared_in_full();
    the_order_of_nodes_counts();
    jobs_that_only_look_equal_are_not();
    the_first_equal_job_is_found();
}
