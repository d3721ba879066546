#include "collective/make.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/ensure.hpp"

namespace yantra {

namespace {

void add_position(GraphProgram& program, const std::vector<Operation>& operations) {
    const std::size_t first = program.ops.size();
    program.first_op.push_back(static_cast<u32>(first));
    std::vector<std::vector<u32>> successors(operations.size());
    for (u32 at = 0; at < operations.size(); ++at) {
        const Operation& op = operations[at];
        program.ops.push_back({op.kind, op.peer, op.bytes, op.reduce, op.from_memory, op.back,
                               op.back_if_last, static_cast<u32>(op.dependencies.size()), 0, 0});
        for (u32 dependency : op.dependencies) {
            ensure(dependency < operations.size(), "graph program: an operation waits for one that is not there");
            successors[dependency].push_back(at);
        }
    }
    for (std::size_t at = 0; at < operations.size(); ++at) {
        GraphOp& op = program.ops[first + at];
        op.first_successor = static_cast<u32>(program.successors.size());
        program.successors.insert(program.successors.end(), successors[at].begin(), successors[at].end());
        op.last_successor = static_cast<u32>(program.successors.size());
    }
}

// Messages of several sizes to one peer, as in halving and doubling.
bool returns(const std::vector<Run>& runs) {
    std::map<std::pair<i32, bool>, std::pair<u64, u64>> size_for;
    return std::any_of(runs.begin(), runs.end(), [&](const Run& run) {
        const std::pair size{run.bytes.num, run.bytes.den};
        return size_for.try_emplace({run.out, run.by_xor}, size).first->second != size;
    });
}

}  // namespace

ExchangeProgram make_exchange(std::vector<Run> runs, u64 window, u64 sends,
                              const Barrier& barrier) {
    ExchangeProgram program;
    program.returns = returns(runs);
    program.neighbours_only = !program.returns && std::all_of(runs.begin(), runs.end(), [](const Run& run) {
        return !run.by_xor && (run.out == 1 || run.out == -1);
    });
    program.runs = std::move(runs);
    program.window = window;
    program.sends = sends;
    program.barrier_at = barrier.at;
    program.barrier_receipts = barrier.receipts;
    program.barrier_counts_hand_overs = barrier.counts_hand_overs;
    return program;
}

GraphProgram make_graph(const std::vector<std::vector<Operation>>& positions, Symmetry symmetry,
                        std::vector<u32> switches, std::vector<u32> hosts) {
    ensure(switches.size() == hosts.size() && switches.size() <= positions.size() &&
               (switches.empty() || symmetry == Symmetry::none),
           "graph program: a switch without a host, or in a symmetry");
    for (u32 host : hosts) {
        ensure(host < positions.size() - switches.size(), "graph program: a switch hosted by no rank");
    }
    GraphProgram program;
    program.symmetry = symmetry;
    program.switches = std::move(switches);
    program.hosts = std::move(hosts);
    for (const std::vector<Operation>& operations : positions) {
        add_position(program, operations);
    }
    program.first_op.push_back(static_cast<u32>(program.ops.size()));
    return program;
}

}  // namespace yantra
