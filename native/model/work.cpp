#include "model/work.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/too_long.hpp"
#include "collective/cut.hpp"
#include "collective/custom.hpp"
#include "model/traffic.hpp"
#include "trace/schema.hpp"

namespace yantra {

namespace {

// Lower bounds in bytes: node; queue; chunk under way; each of its phases.
constexpr double bytes_of_node = 24.0;
constexpr double bytes_of_queue = 40.0;
constexpr double bytes_of_chunk = 384.0;
constexpr double bytes_of_phase = 32.0;

struct Cost {
    double messages = 0.0;
    double events = 0.0;
    double bytes = 0.0;
    double chunks = 0.0;
    double memory = 0.0;
    double largest = 0.0;   // bytes of data in any phase

    void add(const Cost& other, double times) {
        messages += other.messages * times;
        events += other.events * times;
        bytes += other.bytes * times;
    }
};

double of(const Share& share, double data) {
    return static_cast<double>(share.num) * data / static_cast<double>(share.den);
}

Cost cost_of(const ExchangeProgram& machine, double data) {
    Cost cost;
    double packets = static_cast<double>(machine.sends + machine.window);
    double sends = static_cast<double>(machine.sends);
    for (const Run& run : machine.runs) {
        const double handed = std::min(static_cast<double>(run.count), packets);
        const double sent = std::min(static_cast<double>(run.count), sends);
        packets -= handed;
        sends -= sent;
        cost.messages += sent;
        cost.bytes += sent * of(run.bytes, data);
        cost.events += sent + handed * (run.reduce.num == 0 ? 1.0 : 2.0);
    }
    return cost;
}

Cost cost_of(const TimedProgram&, double) {
    Cost cost;
    cost.events = 1.0;
    return cost;
}

// The mean over positions.
Cost cost_of(const GraphProgram& graph, double data) {
    const double positions = static_cast<double>(std::max<std::size_t>(graph.first_op.size(), 2) - 1);
    Cost all;
    for (const GraphOp& op : graph.ops) {
        all.events += 1.0;
        if (op.kind == GraphOp::send) {
            all.messages += 1.0;
            all.bytes += of(op.bytes, data);
        }
    }
    Cost cost;
    cost.add(all, 1.0 / positions);
    return cost;
}

class Counter {
public:
    explicit Counter(const Model& model) : model_(model), ranks_(model.ranks()) {}

    Cost job(u32 at, u32 rank, Work& work) {
        const Job& job = *model_.work.distinct_jobs[at];
        Cost whole;
        for (u32 node = 0; node < job.ops.size(); ++node) {
            const Op& op = job.ops[node];
            if (op.kind == OpKind::collective) {
                const Cost& cost = collective(op, rank);
                whole.add(cost, 1.0);
                whole.chunks = std::max(whole.chunks, cost.chunks);
                whole.memory = std::max(whole.memory, cost.memory);
                note(rank, node, cost.largest, work);
            } else if (op.kind == OpKind::send) {
                whole.messages += 1.0;
                whole.events += 2.0;
                whole.bytes += static_cast<double>(op.bytes);
            } else if (op.kind != OpKind::skip) {
                whole.events += 1.0;
            }
        }
        return whole;
    }

    const Cost& collective(const Op& op, u32 rank) {
        const u32 communicator = model_.work.communicator_at(rank, op.communicator);
        const u32 layout = model_.collectives.communicators[communicator].layout;
        const Key key{layout, op.collective, op.bytes, op.involved, op.custom};
        const auto [found, is_new] = known_.try_emplace(key);
        if (is_new) {
            const GroupLayout& of = model_.collectives.layouts[layout];
            const std::size_t kind = static_cast<std::size_t>(op.collective);
            const bool is_partial = involves_some(model_.collectives, op.involved);
            const Plan& plan = model_.collectives.plans[of.plan_of(kind, op.bytes, is_partial)];
            const u32 custom = op.custom != none ? op.custom : plan.custom;
            found->second = custom != none ? traced(op, model_.collectives.custom[custom]) : planned(op, plan);
        }
        return found->second;
    }

private:
    using Key = std::tuple<u32, CollectiveKind, u64, u64, u32>;
    struct HashKey {
        std::size_t operator()(const Key& key) const {
            const auto& [layout, kind, bytes, involved, custom] = key;
            return mix(mix(mix(mix(layout, static_cast<u64>(kind)), bytes), involved), custom);
        }
    };

    static void note(u32 rank, u32 node, double bytes, Work& work) {
        if (bytes >= static_cast<double>(latest_tick) &&
            (!work.too_large || bytes > work.too_large->bytes)) {
            work.too_large = TooLarge{rank, node, bytes};
        }
    }

    Cost planned(const Op& op, const Plan& plan) const {
        const SystemParameters& system = model_.collectives.system;
        const Cut cut =
            cut_of(op.collective, op.bytes, chunks_of(plan, system), model_.semantics.quirks.padded_chunks,
                   ranks_);
        const Cost each = chunk(op, plan, static_cast<double>(cut.chunk));
        const double pieces = plan.levels.empty() ? 0.0 : static_cast<double>(cut.pieces);
        Cost all;
        all.add(each, pieces);
        all.chunks = pieces;
        all.memory = pieces * (bytes_of_chunk + each.memory);
        all.largest = std::max(each.largest, static_cast<double>(cut.left));
        return all;
    }

    Cost chunk(const Op& op, const Plan& plan, double data) const {
        std::vector<const Level*> levels;
        for (const Level& level : plan.levels) {
            if (level.size > 1 && (!plan.masked || (op.involved >> level.dimension & 1) != 0)) {
                levels.push_back(&level);
            }
        }
        const CollectiveKind kind = op.collective;
        if (!plan.in_stages && (kind == CollectiveKind::all_gather || kind == CollectiveKind::gather ||
                                kind == CollectiveKind::broadcast)) {
            std::reverse(levels.begin(), levels.end());
        }
        Cost cost;
        const bool hierarchical =
            kind == CollectiveKind::all_reduce && model_.collectives.system.local_bw_aware && !plan.in_stages;
        if (!hierarchical) {
            for (const Level* level : levels) {
                phase(*level, kind, data, cost);
            }
            return cost;
        }
        for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
            phase(*levels[i], CollectiveKind::reduce_scatter, data, cost);
        }
        if (!levels.empty()) {
            phase(*levels.back(), CollectiveKind::all_reduce, data, cost);
        }
        for (std::size_t i = levels.size(); i-- > 1;) {
            phase(*levels[i - 1], CollectiveKind::all_gather, data, cost);
        }
        return cost;
    }

    void phase(const Level& level, CollectiveKind kind, double& data, Cost& cost) const {
        cost.largest = std::max(cost.largest, data);
        cost.memory += bytes_of_phase;
        const u32 at = level.program[static_cast<std::size_t>(kind)];
        if (at == no_program) {
            return;
        }
        const Program& program = model_.collectives.programs[at];
        cost.add(std::visit([&](const auto& machine) { return cost_of(machine, data); }, program.machine),
                 1.0);
        data = of(program.result, data);
        cost.largest = std::max(cost.largest, data);
    }

    // The mean over positions.
    static Cost traced(const Op& op, const CustomCollective& custom) {
        Cost all;
        for (const CustomPosition& position : custom.positions) {
            const Graph& graph = *position.graph;
            for (u32 node = 0; node < graph.size(); ++node) {
                const bool sends = static_cast<NodeType>(graph.type[node]) == NodeType::comm_send;
                const double bytes = traced_bytes(graph, node, op.bytes);
                all.events += 1.0;
                all.messages += sends ? 1.0 : 0.0;
                all.bytes += sends ? bytes : 0.0;
                all.largest = std::max(all.largest, bytes);
            }
        }
        Cost cost;
        cost.add(all, 1.0 / static_cast<double>(std::max<std::size_t>(custom.positions.size(), 1)));
        cost.chunks = 1.0;
        cost.largest = all.largest;
        return cost;
    }

    static double traced_bytes(const Graph& graph, u32 node, u64 collective_bytes) {
        if (graph.comm_size.kind_of(node) == IntColumn::integer) {
            return static_cast<double>(graph.comm_size.value[node]);
        }
        return has_chunks(graph, node)
                   ? of(Share{graph.msg_chunk_cnt.value[node], graph.total_chunk_cnt.value[node]},
                        static_cast<double>(collective_bytes))
                   : 0.0;
    }

    const Model& model_;
    const u32 ranks_;
    std::unordered_map<Key, Cost, HashKey> known_;
};

double queues_in_a_rank(const Model& model) {
    u32 sets = 0;
    for (u32 set : model.collectives.queue_sets) {
        sets = std::max(sets, set + 1);
    }
    return static_cast<double>(sets) * static_cast<double>(queues_per_set(model.collectives));
}

}  // namespace

std::vector<ExpectedTraffic> traffic_of(const Model& model) {
    struct OfJob {
        bool is_known = false;
        std::map<u32, Cost> by_communicator;   // as the job names them
        std::map<u32, Cost> by_peer;
    };
    std::vector<OfJob> of_jobs(model.work.distinct_jobs.size());
    std::vector<ExpectedTraffic> found;
    Counter counter(model);
    for (u32 rank = 0; rank < model.ranks(); ++rank) {
        OfJob& of = of_jobs[model.work.job_of[rank]];
        if (!std::exchange(of.is_known, true)) {
            for (const Op& op : model.work.job(rank).ops) {
                if (op.kind == OpKind::collective) {
                    of.by_communicator[op.communicator].add(counter.collective(op, rank), 1.0);
                } else if (op.kind == OpKind::send) {
                    of.by_peer[op.peer].add(Cost{1.0, 0.0, static_cast<double>(op.bytes)}, 1.0);
                }
            }
        }
        for (const auto& [name, cost] : of.by_communicator) {
            const Communicator& at = model.collectives.communicators[model.work.communicator_at(rank, name)];
            const Shape& shape = *model.collectives.layouts[at.layout].shape;
            const u32 position = shape.position(rank - at.base);
            const double parts = std::bit_width(shape.size() - 1U);
            for (u32 further = 1; further < shape.size(); further *= 2) {
                const u32 to = at.base + shape.offset((position + further) % shape.size());
                found.push_back({rank, to, cost.bytes / parts, cost.messages / parts});
            }
        }
        for (const auto& [name, cost] : of.by_peer) {
            found.push_back({rank, model.work.peer_at(rank, name), cost.bytes, cost.messages});
        }
    }
    return found;
}

Work work_of(const Model& model, const std::vector<u32>& ranks) {
    struct OfJob {
        u32 rank = 0;   // the first that runs it
        u32 ranks = 0;
    };
    std::vector<OfJob> of_jobs(model.work.distinct_jobs.size());
    const u32 count = ranks.empty() ? model.ranks() : static_cast<u32>(ranks.size());
    for (u32 i = count; i-- > 0;) {
        OfJob& of_job = of_jobs[model.work.job_of[ranks.empty() ? i : ranks[i]]];
        of_job.rank = ranks.empty() ? i : ranks[i];
        ++of_job.ranks;
    }
    Work work;
    Counter counter(model);
    for (u32 job = 0; job < of_jobs.size(); ++job) {
        if (of_jobs[job].ranks == 0) {
            continue;
        }
        const double times = of_jobs[job].ranks;
        const Cost cost = counter.job(job, of_jobs[job].rank, work);
        const double nodes = static_cast<double>(model.work.distinct_jobs[job]->ops.size());
        work.nodes += nodes * times;
        work.messages += cost.messages * times;
        work.events += cost.events * times;
        work.bytes_moved += cost.bytes * times;
        work.chunks += cost.chunks * times;
        work.bytes_needed += (cost.memory + nodes * bytes_of_node) * times;
    }
    work.queues_in_a_rank = queues_in_a_rank(model);
    work.queues = work.queues_in_a_rank * static_cast<double>(count);
    work.bytes_needed += work.queues * bytes_of_queue;
    return work;
}

}  // namespace yantra
