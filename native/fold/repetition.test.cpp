// Where a job repeats is where a slow comparison of all nodes says.
#include "fold/repetition.hpp"

#include <functional>
#include <vector>

#include "model/test.hpp"

namespace {

using namespace yantra;
using test::check;
using JobRef = std::shared_ptr<const Job>;

std::vector<u32> children(const Job& job, u32 node) {
    std::vector<u32> relative;
    const Graph& graph = *job.graph;
    for (u32 i = graph.child_begin[node]; i < graph.child_begin[node + 1]; ++i) {
        relative.push_back(graph.child[i] - node);
    }
    return relative;
}

bool looks_alike(const Job& job, u32 one, u32 other) {
    const Op& a = job.ops[one];
    const Op& b = job.ops[other];
    return a.kind == b.kind && a.bytes == b.bytes && a.ticks == b.ticks && a.communicator == b.communicator &&
           a.peer == b.peer && children(job, one) == children(job, other);
}

Repeats slow_repeats(const Job& job) {
    const u32 size = static_cast<u32>(job.ops.size());
    Repeats best;
    u32 most = 0;
    for (const u32 first : {size / 8, size / 4, size / 2}) {
        for (u32 period = 1; first + period < size; ++period) {
            u32 length = 0;
            while (first + period + length < size &&
                   looks_alike(job, first + length, first + length + period)) {
                ++length;
            }
            if (length >= 4 * period && length - period > most) {
                most = length - period;
                best = {first, period};
            }
        }
    }
    return best;
}

test::Node any_node(test::Random& random, u32 at) {
    Op op = test::timed(0, random.below(2));
    op.bytes = random.below(2);
    if (random.one_in(4)) {
        op.kind = OpKind::collective;
        op.communicator = static_cast<u32>(random.below(2));
        op.peer = static_cast<u32>(random.below(2));
    }
    test::Node node{op, {}};
    for (u32 back = 1; back <= 3 && back <= at; ++back) {
        if (random.one_in(3)) {
            node.parents.push_back(at - back);
        }
    }
    return node;
}

JobRef any_job(test::Random& random) {
    std::vector<test::Node> nodes;
    const auto add = [&](u64 count) {
        while (count-- > 0) {
            nodes.push_back(any_node(random, static_cast<u32>(nodes.size())));
        }
    };
    add(random.below(8));
    const u64 period = 1 + random.below(5);
    add(period);
    for (u64 left = period * random.below(12); left > 0; --left) {
        test::Node again = nodes[nodes.size() - period];
        for (u32& parent : again.parents) {
            parent += static_cast<u32>(period);
        }
        nodes.push_back(random.one_in(60) ? any_node(random, static_cast<u32>(nodes.size())) : again);
    }
    add(random.below(8));
    return test::job_of(nodes);
}

void the_longest_repetition_is_found() {
    u64 repeating = 0;
    for (u32 seed = 0; seed < 3000; ++seed) {
        test::Random random(seed);
        const JobRef job = any_job(random);
        const Repeats found = find_repeats(*job);
        const Repeats expected = slow_repeats(*job);
        check(found.first == expected.first && found.period == expected.period, "another repetition", seed);
        repeating += found.period > 0;
    }
    check(repeating > 500 && repeating < 2900, "too few jobs of a kind", repeating);
}

// --- Whether a node comes again

JobRef twice(const std::function<void(std::vector<test::Node>&)>& change,
             OpKind kind = OpKind::timed) {
    std::vector<test::Node> nodes;
    for (u32 at = 0; at < 8; ++at) {
        Op op = test::timed(1, 5);
        op.kind = kind;
        op.tag = 7 + (is_message(op) ? at / 4 * 2 : 0);
        nodes.push_back({op, {}});
    }
    for (const u32 block : {0u, 4u}) {
        nodes[block + 1].parents = {block};
        nodes[block + 2].parents = {block};
    }
    change(nodes);
    return test::job_of(nodes);
}

bool come_again(const std::function<void(std::vector<test::Node>&)>& change,
                OpKind kind = OpKind::timed, u32 tag_step = 0) {
    return repeats(*twice(change, kind), 0, 4, tag_step);
}

void a_node_comes_again_if_all_that_it_is_and_leads_to_does() {
    using Nodes = std::vector<test::Node>;
    check(come_again([](Nodes&) {}), "two nodes alike", 0);
    const std::function<void(Op&)> others[] = {
        [](Op& op) { op.kind = OpKind::memory; },
        [](Op& op) { op.node_class = NodeClass::communication; },
        [](Op& op) { ++op.resource; },
        [](Op& op) { op.collective = CollectiveKind::all_gather; },
        [](Op& op) { op.wakes = !op.wakes; },
        [](Op& op) { ++op.communicator; },
        [](Op& op) { ++op.peer; },
        [](Op& op) { op.tag += 2; },
        [](Op& op) { op.custom = 3; },
        [](Op& op) { ++op.bytes; },
        [](Op& op) { ++op.ticks; },
        [](Op& op) { ++op.busy_ticks; },
        [](Op& op) { --op.involved; },
        [](Op& op) { ++op.priority; },
    };
    u64 number = 0;
    for (const auto& other : others) {
        for (const u32 node : {0u, 4u}) {
            check(!come_again([&](Nodes& nodes) { other(nodes[node].op); }), "another operation", number);
        }
        ++number;
    }
    for (const u32 block : {0u, 4u}) {
        check(!come_again([&](Nodes& nodes) { nodes[block + 3].parents = {block}; }), "a child more", block);
        check(!come_again([&](Nodes& nodes) { nodes[block + 2].parents = {}; }), "a child less", block);
        check(!come_again([&](Nodes& nodes) { nodes[block + 1].parents = {}; }), "the first less", block);
        check(!come_again([&](Nodes& nodes) {
                  nodes[block + 2].parents = {};
                  nodes[block + 3].parents = {block};
              }), "another child", block);
    }
    for (const OpKind kind : {OpKind::send, OpKind::receive}) {
        for (const u32 step : {0u, 1u, 2u, 3u}) {
            check(come_again([](Nodes&) {}, kind, step) == (step == 2), "tags of messages go up by a step", step);
        }
    }
    check(come_again([](Nodes&) {}, OpKind::timed, 2), "only messages have tags that go up", 0);
    Job ordered = *twice([](Nodes&) {});
    ordered.position = {3, 0, 1, 2, 7, 4, 5, 6};
    check(repeats(ordered, 0, 4, 0), "as far on in the order of nodes", 0);
    ordered.position = {3, 0, 1, 2, 6, 4, 5, 7};
    check(!repeats(ordered, 0, 4, 0), "elsewhere in the order of nodes", 0);
}

}  // namespace

int main() {
    the_longest_repetition_is_found();
    a_node_comes_again_if_all_that_it_is_and_leads_to_does();
}
